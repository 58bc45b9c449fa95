// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Temporary files", .timeLimit(.minutes(1)))
struct TemporaryFileTests {
    private static let file = ServedFile(length: 2 << 20)

    private func server() async throws -> ScriptedServer {
        try await ScriptedServer.start { .file(Self.file, $0) }
    }

    @Test("A file is there in the handler, and deleted when it returns")
    func deletedAfterHandler() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let paths = Log<String>()
        let task = try harness.session.download(from: server.text("a")) { result in
            guard let file = try? result.get() else { return paths.add("failed") }
            #expect(file.isTemporary && Files.exists(file.path))
            #expect(Self.file.pattern.difference(fromFileAt: file.path, length: Self.file.length) == nil)
            paths.add(file.path)
        }
        await paths.wait(for: 1)
        while Files.exists(paths.entries[0]) { await Task.yield() }
        #expect(await code { try await task.value } == .fileWasHandedOut)
        #expect(harness.temporaryFiles == [])
    }

    @Test("A file is there in the delegate's method, and deleted when it returns")
    func deletedAfterDelegate() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let paths = Log<String>()
        let observer = Observer { script in
            script.downloadEnd = { _, result in
                guard let file = try? result.get() else { return paths.add("failed") }
                #expect(Files.exists(file.path))
                paths.add(file.path)
            }
        }
        harness.session.addDelegate(observer)
        try harness.session.downloadTask(for: server.text("a")).resume()
        await paths.wait(for: 1)
        while Files.exists(paths.entries[0]) { await Task.yield() }
        #expect(harness.temporaryFiles == [])
    }

    @Test("A file that was kept stays where it is; one that was moved is at its new place")
    func keptAndMoved() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let (paths, target) = (Log<String>(), harness.path("moved"))
        try harness.session.download(from: server.text("a")) { result in
            let file = try? result.get()
            file?.keep()
            paths.add(file?.isTemporary == false ? file?.path ?? "" : "")
        }
        await paths.wait(for: 1)
        try harness.session.download(from: server.text("b")) { result in
            let file = try? result.get()
            try? file?.move(to: target)
            paths.add(file?.isTemporary == false ? file?.path ?? "" : "")
        }
        await paths.wait(for: 2)
        harness.session.finishTasksAndInvalidate()
        #expect(paths.entries[1] == target)
        for path in paths.entries {
            #expect(Self.file.pattern.difference(fromFileAt: path, length: Self.file.length) == nil)
        }
        #expect(harness.temporaryFiles.count == 1)
    }

    @Test("A file that was returned to an asynchronous waiter exists until the waiter releases it")
    func awaited() async throws {
        let server = try await self.server()
        let harness = try Harness()
        var path = ""
        do {
            let file = try await harness.session.download(from: server.text("a"))
            path = file.path
            #expect(Self.file.pattern.difference(fromFileAt: path, length: Self.file.length) == nil)
            withExtendedLifetime(file) {}
        }
        while Files.exists(path) { await Task.yield() }
    }

    @Test("A task without an observer keeps its file for a late waiter")
    func lateWaiter() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let task = try harness.session.downloadTask(for: server.text("a"))
        task.resume()
        while task.state != .ended { await Task.yield() }
        let file = try await task.value
        #expect(Self.file.pattern.difference(fromFileAt: file.path, length: Self.file.length) == nil)
    }

    @Test("Moving to a name that is taken fails, and leaves both, unless it is to be overwritten")
    func moveOver() async throws {
        let server = try await self.server()
        let harness = try Harness()
        try harness.directory.write([UInt8]("mine"), to: "taken")
        let file = try await harness.session.download(from: server.text("a"))
        #expect(await code { try file.move(to: harness.path("taken")) } == .fileExists)
        #expect(file.isTemporary && Files.exists(file.path))
        #expect(try harness.directory.read("taken") == [UInt8]("mine"))
        try file.move(to: harness.path("taken"), ifExists: .overwrite)
        #expect(!file.isTemporary && file.path == harness.path("taken"))
        #expect(Self.file.pattern.difference(fromFileAt: file.path, length: Self.file.length) == nil)
    }
}

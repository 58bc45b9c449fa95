// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletFoundation
import Testing
import TransferTesting

@Suite("Foundation's types", .timeLimit(.minutes(1)))
struct FoundationTests {
    @Test("A URL is a request, its data a Data, a file's URL a destination")
    func types() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "hello") }
        let harness = try Harness()
        let url = try #require(URL(string: server.text("a?b=c%20d")))
        #expect(try await harness.session.data(from: url).data == Data("hello".utf8))
        let target = URL(fileURLWithPath: harness.path("file"))
        let file = try await harness.session.download(from: url, to: .file(target))
        #expect(file.url.path == target.path && server.requests[0].target == "/a?b=c%20d")
        #expect(await code { try harness.session.dataTask(for: URL(fileURLWithPath: "/etc/hosts")) } == .badURL)
    }

    @Test("A Date makes a request conditional, by whole seconds")
    func date() async throws {
        let server = try await ScriptedServer.start { _ in .response(304) }
        let harness = try Harness()
        let request = try TransferRequest(server.text("a"))
            .ifModified(since: Date(timeIntervalSince1970: 1_751_364_000.9))
        #expect(try await harness.session.data(from: request).isNotModified)
        #expect(server.requests[0]["If-Modified-Since"] == "Tue, 01 Jul 2025 10:00:00 GMT")
    }

    @Test("Progress counts to the whole, and is finished with the task", arguments: [false, true])
    func counts(_ isDownload: Bool) async throws {
        let file = ServedFile(length: 3 << 20)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let harness = try Harness()
        let task: TransferTask =
            isDownload
            ? try harness.session.downloadTask(for: server.text("a"), to: .file(harness.path("file")))
            : try harness.session.dataTask(for: server.text("a"))
        let observer = Observer()
        let progress = task.makeProgress()
        #expect(progress.isIndeterminate && progress.isCancellable && progress.isPausable && !progress.isFinished)
        task.addDelegate(observer)
        task.resume()
        await observer.waitForEnds()
        while !progress.isFinished { await Task.yield() }
        #expect(progress.completedUnitCount == file.length && progress.totalUnitCount == file.length)
        #expect(task.makeProgress().isFinished == true)
    }

    @Test("Cancelling the progress cancels the task")
    func cancel() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a"))
        let progress = task.makeProgress()
        task.resume()
        await server.waitForRequests(1)
        progress.cancel()
        #expect(await code { try await task.value } == .cancelled)
        #expect(progress.isCancelled && !progress.isFinished)
    }

    @Test("Pausing the progress suspends the task, resuming it resumes the task")
    func pause() async throws {
        let file = ServedFile(length: 4 << 20)
        let server = try await ScriptedServer.start { request in
            var served = file
            if request["Range"] == nil { served.interruption = .stallAfter(2 << 20) }
            return .file(served, request)
        }
        let harness = try Harness()
        let task = try harness.session.downloadTask(for: server.text("a"), to: .file(harness.path("file")))
        let observer = Observer()
        task.addDelegate(observer)
        let progress = task.makeProgress()
        task.resume()
        await observer.progress.wait { ($0.last?.bytesReceived ?? 0) >= 1 << 20 }
        progress.pause()
        while task.state != .suspended { await Task.yield() }
        #expect(progress.isPaused)
        progress.resume()
        #expect(try await task.value.size == file.length)
        #expect(file.pattern.difference(fromFileAt: harness.path("file"), length: file.length) == nil)
    }

    @Test("A progress can be released while the task runs, and can outlive it")
    func lifetimes() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a"))
        _ = task.makeProgress()
        task.resume()
        #expect(try await task.value.text == "x")
        var progress: Progress?
        do { progress = try harness.session.dataTask(for: server.text("a")).makeProgress() }
        progress?.cancel()
        #expect(progress?.isCancelled == true)
    }
}

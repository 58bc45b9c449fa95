// SPDX-License-Identifier: Apache-2.0
import Control
import QueueStore
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import Daemon

@Suite("Uploads in the queue", .timeLimit(.minutes(2)))
struct CoreUploadTests {
    private let pattern = TestPattern(seed: 5)

    private func file(_ harness: CoreHarness, _ size: Int64, _ name: String = "up.bin") throws -> String {
        try harness.directory.write(self.pattern.bytes(0..<size), to: name)
        return harness.directory.path(name)
    }

    private func add(
        _ harness: CoreHarness,
        _ source: UploadSource,
        to url: String,
        _ options: [String: String] = [:],
        session: String? = nil,
        isPaused: Bool = false
    ) async throws -> GID {
        var entry = NewTransfer(urls: [url], isPaused: isPaused, session: session)
        entry.options = TransferOptions(options.mapValues { [$0] })
        entry.upload = source
        return try #require(try await harness.core.add([entry], at: nil).first)
    }

    private func holds(_ bytes: [UInt8]?, _ count: Int64) -> Bool {
        bytes?.count == Int(count) && bytes?.withUnsafeBytes { self.pattern.firstDifference(in: $0) } == nil
    }

    @Test("A file arrives with its fields; the record shows the bytes sent, and the file is unchanged")
    func sent() async throws {
        let harness = try await CoreHarness()
        let server = try await UploadServer.start()
        let path = try self.file(harness, 300_000)
        var source = UploadSource([.file(path)])
        source.type = "image/png"
        let id = try await self.add(harness, source, to: server.text("/in/f"), ["header": "Cookie: a=b"])
        try await harness.events.wait("finished \(id)")
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT" && request["Content-Type"] == "image/png" && request["Cookie"] == "a=b")
        let isWhole = self.holds(server.uploads["/in/f"]?.bytes, 300_000)
        #expect(isWhole)
        let record = try await harness.core.record(id)
        #expect(record.upload == source && record.path == path)
        #expect(record.bytes == 300_000 && record.total == 300_000)
        #expect(self.pattern.difference(fromFileAt: path, length: 300_000) == nil)
        await harness.stop()
    }

    @Test("Parts are sent one after the other, a form by POST")
    func parts() async throws {
        let harness = try await CoreHarness()
        let server = try await UploadServer.start()
        let path = try self.file(harness, 1000)
        var source = UploadSource([.bytes([1, 2]), .file(path), .bytes([3])])
        source.type = "multipart/form-data; boundary=x"
        let id = try await self.add(harness, source, to: server.text("/form"))
        try await harness.events.wait("finished \(id)")
        #expect(server.requests.first?.method == "POST")
        #expect(server.uploads["/form"]?.bytes == [1, 2] + self.pattern.bytes(0..<1000) + [3])
        await harness.stop()
    }

    @Test("What cannot be sent is refused when it is added, with what is wrong")
    func refused() async throws {
        let harness = try await CoreHarness()
        let path = try self.file(harness, 10)
        func message(_ source: UploadSource, _ url: String = "http://127.0.0.1:9/", _ options: [String: String] = [:])
            async -> String
        {
            do {
                _ = try await self.add(harness, source, to: url, options)
                return "nothing"
            } catch { return (error as? ControlError)?.message ?? "\(error)" }
        }
        #expect(await message(UploadSource([.file(path + "x")])).contains(path + "x"))
        #expect(await message(UploadSource([.file("up.bin")])).contains("absolute"))
        #expect(await message(UploadSource([.file(harness.directory.path)])).contains(harness.directory.path))
        #expect(await message(UploadSource([])).contains("nothing to send"))
        let much = [UInt8](repeating: 0, count: UploadSource.mostBytes + 1)
        #expect(await message(UploadSource([.bytes(much)])).contains("bytes in addition to its files"))
        var source = UploadSource([.file(path)])
        #expect(await message(source, "http://127.0.0.1:9/", ["body": "YQ=="]).contains("body"))
        source.resumption = "ftp"
        #expect(await message(source).contains("ftp"))
        source.resumption = "auto"
        source.checksum = "crc7"
        #expect(await message(source).contains("crc7"))
        source.checksum = nil
        source.record = [1]
        #expect(await message(source).contains("record"))
        source.record = nil
        source.type = "a\r\nb: c"
        #expect(await message(source).contains("type"))
        source.type = "a/b"
        source.collection = "nowhere"
        #expect(await message(source).contains("collection"))
        #expect(harness.core.counts.waiting == 0)
        await harness.stop()
    }

    @Test("A daemon that stopped in the middle resumes from the server's offset")
    func goesOn() async throws {
        let directory = try TemporaryDirectory()
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.holdsAt = 1_000_000
        }
        let first = try await CoreHarness(directory)
        let path = try self.file(first, 4_000_000)
        let id = try await self.add(first, UploadSource([.file(path)]), to: server.text("/files/"))
        try await first.events.wait(for: 500_000, of: id)
        // Progress counts bytes that the kernel has taken: the server may have none of them yet.
        await server.waitForBytes(1_000_000)
        await first.stop()
        #expect(server.received == 1_000_000)
        server.change { $0.holdsAt = nil }
        let second = try await CoreHarness(directory)
        try await second.events.wait("finished \(id)")
        let isWhole = self.holds(server.only?.bytes, 4_000_000)
        #expect(isWhole, "\(server.only?.bytes.count ?? -1) bytes")
        #expect(server.requests.contains { $0.method == "HEAD" })
        #expect(server.requests.count { $0.method == "POST" } == 1)
        await second.stop()
    }

    @Test("A POST that a dead daemon had started is not repeated without a command")
    func begunBefore() async throws {
        let harness = try await CoreHarness()
        let server = try await UploadServer.start()
        let path = try self.file(harness, 10)
        let id = try await self.add(
            harness,
            UploadSource([.file(path)]),
            to: server.text("/f"),
            ["method": "POST"],
            isPaused: true
        )
        try UploadNotes(stateDirectory: harness.directory.path).begun(id)
        try await harness.core.perform(.resume, on: .ids([id]))
        try await harness.events.wait("failed \(id)")
        let failure = try #require(try await harness.core.record(id).failure)
        #expect(failure.message.contains("POST") && failure.remedy.contains("retry"))
        #expect(server.requests.isEmpty)
        try await harness.core.perform(.retry, on: .ids([id]))
        try await harness.events.wait("finished \(id)")
        #expect(server.uploads["/f"]?.bytes.count == 10)
        await harness.stop()
    }

    @Test("A started upload with an upload resource is resumed there, whatever its method")
    func begunWithRecord() throws {
        let directory = try TemporaryDirectory()
        let notes = UploadNotes(stateDirectory: directory.path)
        let id = GID.random()
        #expect(!notes.isLost(id))
        try notes.begun(id)
        #expect(notes.isLost(id))
        let record = UploadRecord(speaks: .ietf6, endpoint: "http://h/", resource: "http://h/1", length: 1, files: [])
        try notes.journal(of: id).write(record)
        #expect(notes.isBegun(id) && !notes.isLost(id))
        notes.clear(id)
        #expect(!notes.isBegun(id))
    }

    @Test("While a POST is under way it is noted, and no longer when it has ended")
    func noted() async throws {
        let harness = try await CoreHarness()
        let notes = UploadNotes(stateDirectory: harness.directory.path)
        let gate = Gate()
        let server = try await CoreRunningTests.gated(gate)
        let path = try self.file(harness, 10)
        let id = try await self.add(harness, UploadSource([.file(path)]), to: server.text("f"), ["method": "POST"])
        await server.waitForRequests(1)
        #expect(notes.isBegun(id))
        gate.open()
        try await harness.events.wait("finished \(id)")
        #expect(!notes.isBegun(id))
        await harness.stop()
    }

    /// A POST whose request the server has, and whose response waits for a gate.
    private func posting(
        _ directory: TemporaryDirectory,
        _ server: ScriptedServer,
        _ options: [String: String] = [:]
    ) async throws -> (CoreHarness, GID) {
        let harness = try await CoreHarness(directory)
        let path = try self.file(harness, 10)
        let options = options.merging(["method": "POST"]) { own, _ in own }
        let id = try await self.add(harness, UploadSource([.file(path)]), to: server.text("f"), options)
        await server.waitForRequests(1)
        return (harness, id)
    }

    @Test("A daemon that stops completes a POST first, while a second stop ends it", arguments: [false, true])
    func completedFirst(_ isForced: Bool) async throws {
        let (directory, gate) = (try TemporaryDirectory(), Gate())
        let server = try await CoreRunningTests.gated(gate)
        let (first, id) = try await self.posting(directory, server)
        first.core.stop(isForced: false)
        try await first.events.wait(forLine: "requests that must not be repeated")
        if isForced { first.core.stop(isForced: true) } else { gate.open() }
        await first.core.waitUntilStopped()
        gate.open()
        let second = try await CoreHarness(directory)
        if isForced { try await second.events.wait("failed \(id)") }
        let record = try await second.core.record(id)
        #expect(record.state == (isForced ? .failed : .finished))
        #expect(isForced == (record.failure?.message.contains("POST was interrupted") ?? false))
        #expect(server.requests.count == 1)
        await second.stop()
    }

    @Test("A POST that may be repeated is sent again by the next daemon, with the same fields")
    func permitted() async throws {
        let (directory, gate) = (try TemporaryDirectory(), Gate())
        let server = try await CoreRunningTests.gated(gate)
        let options = ["may-be-repeated": "true", "header": "Idempotency-Key: \"k\""]
        let (first, id) = try await self.posting(directory, server, options)
        await first.stop()
        gate.open()
        let second = try await CoreHarness(directory)
        try await second.events.wait("finished \(id)")
        #expect(server.requests.map { $0["Idempotency-Key"] } == ["\"k\"", "\"k\""])
        await second.stop()
    }

    @Test("A download by POST is treated alike: completed, noted, and not repeated after a kill")
    func download() async throws {
        let (directory, gate) = (try TemporaryDirectory(), Gate())
        let server = try await CoreRunningTests.gated(gate)
        let first = try await CoreHarness(directory)
        let id = try await first.add(server.text("f"), ["method": "POST", "body": "YQ=="])
        await server.waitForRequests(1)
        #expect(UploadNotes(stateDirectory: directory.path).isBegun(id))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await first.stop() }
            group.addTask {
                try? await first.events.wait(forLine: "requests that must not be repeated")
                first.core.stop(isForced: true)
            }
        }
        let second = try await CoreHarness(directory)
        try await second.events.wait("failed \(id)")
        #expect(server.requests.count == 1)
        gate.open()
        try await second.core.perform(.retry, on: .ids([id]))
        try await second.events.wait("finished \(id)")
        #expect(server.requests.count == 2)
        await second.stop()
    }

    @Test("A POST that was never connected leaves no note, and survives the daemon")
    func neverSent() async throws {
        let directory = try TemporaryDirectory()
        let port = try RefusingPort()
        let first = try await CoreHarness(directory)
        let path = try self.file(first, 10)
        let id = try await self.add(first, UploadSource([.file(path)]), to: port.text("f"), ["method": "POST"])
        try await first.events.wait(forLine: "127.0.0.1:\(port.port) is held")
        // An attempt to reach the host again has the note until it has failed.
        while UploadNotes(stateDirectory: directory.path).isBegun(id) { await Task.yield() }
        await first.stop()
        let second = try await CoreHarness(directory)
        try await second.events.wait(forLine: "127.0.0.1:\(port.port) is held")
        #expect(try await second.core.record(id).state != .failed)
        await second.stop()
    }

    @Test(
        "Removal with the partial upload is reported to the server, whether it runs or is paused",
        arguments: [true, false]
    )
    func givenUp(isPaused: Bool) async throws {
        let harness = try await CoreHarness()
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.holdsAt = 1_000_000
        }
        let path = try self.file(harness, 4_000_000)
        let id = try await self.add(harness, UploadSource([.file(path)]), to: server.text("/files/"))
        try await harness.events.wait(for: 100_000, of: id)
        // From here on the server knows of every request but the one that is to come.
        await server.waitForBytes(100_000)
        if isPaused { try await harness.core.perform(.pause, on: .ids([id])) }
        #expect(!server.requests.contains { $0.method == "DELETE" })
        let count = server.requests.count
        try await harness.core.perform(.remove(deletesPartial: true), on: .ids([id]))
        await server.waitForRequests(count + 1)
        #expect(server.requests.last?.method == "DELETE")
        #expect(self.pattern.difference(fromFileAt: path, length: 4_000_000) == nil)
        await harness.stop()
    }

    @Test("A file that changed while its upload was paused is refused, and the next attempt sends it from the start")
    func changed() async throws {
        let harness = try await CoreHarness()
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.holdsAt = 1_000_000
        }
        let path = try self.file(harness, 4_000_000)
        let id = try await self.add(harness, UploadSource([.file(path)]), to: server.text("/files/"))
        try await harness.events.wait(for: 100_000, of: id)
        try await harness.core.perform(.pause, on: .ids([id]))
        _ = try self.file(harness, 3_000_000)
        server.change { $0.holdsAt = nil }
        try await harness.core.perform(.resume, on: .ids([id]))
        try await harness.events.wait("failed \(id)")
        #expect(try await harness.core.record(id).failure?.message.contains("changed") == true)
        try await harness.core.perform(.retry, on: .ids([id]))
        try await harness.events.wait("finished \(id)")
        let isAnew = server.uploads.values.contains { $0.isWhole && self.holds($0.bytes, 3_000_000) }
        #expect(isAnew)
        await harness.stop()
    }

    @Test("A file rewritten while its upload was paused is refused, though its modification time was restored (ctime)")
    func rewritten() async throws {
        let harness = try await CoreHarness()
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.holdsAt = 1_000_000
        }
        try harness.directory.write(self.pattern.bytes(0..<4_000_000), to: "up.bin", modified: 1_500_000_000)
        let path = harness.directory.path("up.bin")
        let id = try await self.add(harness, UploadSource([.file(path)]), to: server.text("/files/"))
        try await harness.events.wait(for: 100_000, of: id)
        try await harness.core.perform(.pause, on: .ids([id]))
        let bytes = TestPattern(seed: 6).bytes(0..<4_000_000)
        try harness.directory.write(bytes, to: "up.bin", modified: 1_500_000_000)
        server.change { $0.holdsAt = nil }
        try await harness.core.perform(.resume, on: .ids([id]))
        try await harness.events.wait("failed \(id)")
        #expect(try await harness.core.record(id).failure?.message.contains("changed") == true)
        try await harness.core.perform(.retry, on: .ids([id]))
        try await harness.events.wait("finished \(id)")
        let isNew = server.uploads.values.contains { $0.isWhole && $0.bytes == bytes }
        #expect(isNew)
        await harness.stop()
    }

    @Test("Its rate is limited by 'max-upload-limit', which can change while it runs")
    func rate() async throws {
        let harness = try await CoreHarness()
        let server = try await UploadServer.start()
        let path = try self.file(harness, 4_000_000)
        let id = try await self.add(
            harness,
            UploadSource([.file(path)]),
            to: server.text("/f"),
            ["max-upload-limit": "1000"]
        )
        await server.waitForRequests(1)
        try await harness.core.changeOptions(id, TransferOptions(["max-upload-limit": ["0"]]))
        try await harness.events.wait("finished \(id)")
        #expect(server.requests.count { $0.received > 0 } == 1)
        await harness.stop()
    }

    @Test("A session gets the response once, and the response's body with the end")
    func session() async throws {
        let harness = try await CoreHarness()
        let server = try await UploadServer.start { $0.answer = "it is \u{1F600}\n" }
        _ = try await CoreSessionTests.open(harness)
        let path = try self.file(harness, 100)
        let id = try await self.add(
            harness,
            UploadSource([.file(path)]),
            to: server.text("/f"),
            ["method": "POST"],
            session: "s"
        )
        try await harness.events.wait("finished \(id)")
        let stream = try await harness.core.sessionEvents("s", instance: "a", after: 0)
        let events = await CoreSessionTests.read(stream) { $0.json["kind"]?.string == "finished" }
        #expect(events.map { $0.json["kind"]?.string } == ["response", "finished"])
        #expect(events.first?.json["status"]?.integer == 201)
        #expect(events.last?.json["response"]?["status"]?.integer == 201)
        let body = try #require(events.last?.json["body"]?.string.flatMap { Base64.decode($0.utf8) })
        #expect(String(decoding: body, as: UTF8.self) == "it is \u{1F600}\n")
        #expect(events.last?.json["bytes"]?.integer == 100 && events.last?.json["sent"]?.integer == 100)
        #expect(try await CoreSessionTests.open(harness).transfers.first?.upload?.path == path)
        await harness.stop()
    }

    @Test("What may not be made twice is not cut outside the schedule; the rest is")
    func schedule() {
        func stored(_ number: UInt64, _ method: String?) -> StoredTransfer {
            var one = StoredTransfer(
                id: GID(rawValue: number) ?? .random(),
                urls: ["http://h/"],
                directory: "/",
                added: 0
            )
            if let method {
                one.upload = UploadSource([.file("/f")])
                one.options[.method] = method
            }
            return one
        }
        #expect([stored(1, nil), stored(2, "PUT"), stored(3, "POST")].map(\.mayBeCut) == [true, true, false])
    }
}

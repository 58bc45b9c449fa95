// SPDX-License-Identifier: Apache-2.0
import Control
import Martlet
import Testing
import TransferCore
import TransferTesting

@Suite("Uploads of a background session", .timeLimit(.minutes(1)))
struct BackgroundUploadTests {
    private let daemon: FakeDaemon

    init() throws { self.daemon = try FakeDaemon() }

    private func entry(_ number: Int = 1) async throws -> (NewTransfer, UploadSource) {
        await self.daemon.calls.wait { FakeDaemon.added($0).count == number }
        let entries = self.daemon.calls.entries.filter { $0.method == "martlet.add" }
            .flatMap { $0.parameters["entries"]?.array ?? [] }
        let json = try #require(entries.last)
        let upload = try #require(json["upload"].flatMap { UploadSource(json: $0) })
        var entry = NewTransfer(
            id: json["id"]?.string.flatMap { GID($0) },
            urls: (json["urls"]?.array ?? []).compactMap(\.string)
        )
        entry.options = TransferOptions(json: json["options"] ?? .null)
        return (entry, upload)
    }

    @Test("a file is handed to the daemon with all that was asked")
    func add() async throws {
        try await self.daemon.start()
        let session = try TransferSession(configuration: self.daemon.configuration())
        var request = try TransferRequest("http://example.com/in?q=1")
        request.method = "POST"
        request.headers = ["X-A": "b", "Content-Type": "image/png"]
        request.referer = try HTTPURL("http://example.com/page")
        request.rateLimit = 1000
        request.priority = .high
        let task = try session.uploadTask(
            for: request,
            from: .file("/data/photo.png"),
            resumption: .by(.tus),
            checksum: .sha256
        )
        task.description = "d"
        task.persistentInfo = "i"
        task.resume()
        let (entry, upload) = try await self.entry()
        #expect(entry.urls == ["http://example.com/in?q=1"])
        #expect(upload.path == "/data/photo.png" && upload.type == "image/png")
        #expect(upload.resumption == "tus" && upload.checksum == "sha256" && upload.record == nil)
        #expect(entry.options[.method] == "POST" && entry.options[.referer] == "http://example.com/page")
        #expect(entry.options[all: .header].contains("X-A: b"))
        #expect(entry.options[.maxUploadLimit] == "1000" && entry.options[.maxDownloadLimit] == nil)
        #expect(entry.options[.priority] == "1" && entry.options[.description] == "d")
        #expect(entry.options[.dir] == nil && entry.options[.out] == nil && entry.options[.ifExists] == nil)
        task.rateLimit = 5
        await self.daemon.calls.wait { $0.contains { $0.method == "martlet.setOptions" } }
        let options = self.daemon.calls.entries.last { $0.method == "martlet.setOptions" }?.parameters["options"]
        #expect(options == ["max-upload-limit": "5"])
    }

    @Test("a form goes with its bytes; what only the program has is refused at once")
    func bodies() async throws {
        try await self.daemon.start()
        let session = try TransferSession(configuration: self.daemon.configuration())
        let form = UploadBody.form([.field("a", "1"), .file("f", "/data/f")])
        try session.uploadTask(for: "http://example.com/", from: form).resume()
        let (_, upload) = try await self.entry()
        #expect(upload.files == ["/data/f"] && upload.isForm && upload.byteCount > 100)
        let (stream, _) = AsyncStream.makeStream(of: [UInt8].self)
        let much = UploadBody.Part.bytes("b", [UInt8](repeating: 0, count: 2 << 20), fileName: "b")
        for body in [
            UploadBody.bytes([1]), .stream(stream), .form([.field("a", "1")]), .form([much, .file("f", "/f")]),
        ] {
            let error = #expect(throws: TransferError.self) {
                _ = try session.uploadTask(for: "http://example.com/", from: body)
            }
            #expect(error?.code == .badRequest && error?.message.contains("file") == true)
        }
    }

    @Test("the program opened again finds it, with the progress, the response, its body and one end")
    func foundAgain() async throws {
        try await self.daemon.start()
        var record = TransferRecord(
            id: try #require(GID(rawValue: 7)),
            session: "test.session",
            state: .active,
            urls: ["http://example.com/in"],
            directory: "/",
            added: 1
        )
        record.upload = UploadSource([.file("/data/photo.png")])
        record.options[.method] = "POST"
        record.options[.description] = "photo"
        record.options[.userInfo] = #"{"task":3,"temporary":false,"info":"i"}"#
        record.bytes = 10
        record.total = 100
        self.daemon.hold(record)
        let id = record.id.description
        self.daemon.emit([
            "kind": "response", "id": .string(id), "status": 201, "url": "http://example.com/in",
            "fields": [["Location", "/in/1"], ["Content-Length", "2"]], "total": 100,
        ])
        self.daemon.emit([
            "kind": "finished", "id": .string(id), "path": "/data/photo.png", "bytes": 100, "received": 2, "sent": 90,
            "body": .string(Base64.encode("ok".utf8)),
        ])
        let observer = BackgroundObserver()
        let session = try await TransferSession.open(self.daemon.configuration())
        let task = try #require(await session.tasks().upload.first)
        #expect(task.id == 3 && task.description == "photo" && task.persistentInfo == "i")
        #expect(task.bytesSent == 10 && task.bytesExpectedToSend == 100 && task.request.method == "POST")
        session.addDelegate(observer)
        let answer = try await task.value
        #expect(answer.status == 201 && answer.text == "ok")
        #expect(task.response?.headers["Location"] == "/in/1" && task.response?.expectedLength == 2)
        await observer.log.wait(for: "all events")
        #expect(observer.log.entries == ["response 201 photo", "sent 100 photo", "end photo", "all events"])
        #expect(task.bytesSent == 100 && task.state == .ended)
        await self.daemon.calls.wait { $0.contains { $0.method == "martlet.acknowledge" } }
    }

    @Test("the end contains the response, because the program that received it may have been killed")
    func responseOfBefore() async throws {
        try await self.daemon.start()
        let session = try TransferSession(configuration: self.daemon.configuration())
        let task = try session.uploadTask(for: "http://example.com/in", from: .file("/data/f"))
        task.resume()
        let id = try #require(try await self.entry().0.id?.description)
        self.daemon.emit([
            "kind": "finished", "id": .string(id), "path": "/data/f", "bytes": 3, "received": 0, "sent": 3, "body": "",
            "response": ["status": 202, "url": "http://example.com/in", "fields": [["X-A", "b"]]],
        ])
        let answer = try await task.value
        #expect(answer.status == 202 && answer.response.headers["X-A"] == "b" && answer.body.isEmpty)
    }

    @Test("progress is delivered as it occurs, and a failure with its code")
    func progress() async throws {
        try await self.daemon.start()
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.uploadTask(for: "http://example.com/in", from: .file("/data/f"))
        task.description = "f"
        task.resume()
        let id = try #require(try await self.entry().0.id?.description)
        // Progress is not stored: only current observers get it.
        await self.daemon.streams.wait(for: 1)
        self.daemon.tell([
            "kind": "progress", "id": .string(id), "bytes": 40, "total": 100, "rate": 5, "sent": 40, "acknowledged": 30,
        ])
        await observer.log.wait(for: "sent 40 f")
        #expect(task.bytesSent == 40 && task.bytesExpectedToSend == 100)
        self.daemon.emit([
            "kind": "failed", "id": .string(id), "path": "/data/f",
            "error": ["code": 3, "message": "gone", "remedy": "", "status": 404],
        ])
        await observer.log.wait { $0.contains { $0.hasPrefix("failed") } }
        #expect(observer.errors.entries.first?.message == "gone" && task.state == .ended)
    }

    @Test("an upload that the program started resumes in the daemon from the server's offset")
    func handedOver() async throws {
        try await self.daemon.start()
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.rate = 1_000_000
            behaviour.holdsAt = 3_000_000
        }
        let directory = try TemporaryDirectory()
        try directory.write([UInt8](repeating: 1, count: 4_000_000), to: "f")
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = .none
        let here = try TransferSession(configuration: configuration)
        let begun = try here.uploadTask(for: server.text("/files/"), from: .file(directory.path("f")))
        let events = begun.events
        begun.resume()
        for await event in events { if case .sent = event, begun.resumeData != nil { break } }
        let data = try #require(await begun.cancelKeepingUpload())
        let session = try TransferSession(configuration: self.daemon.configuration())
        try session.uploadTask(resuming: data, for: server.text("/files/")).resume()
        let (_, upload) = try await self.entry()
        let record = try #require(upload.record.flatMap { UploadRecord(encoded: $0) })
        #expect(upload.path == directory.path("f") && upload.resumption == "tus" && record.length == 4_000_000)
        #expect(server.uploads[try HTTPURL(record.resource).path] != nil)
        #expect(!server.requests.contains { $0.method == "DELETE" })
    }
}

// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferCore
import TransferTesting

@Suite("A body as a sequence of bytes", .timeLimit(.minutes(1)))
struct BodyBytesTests {
    @Test("lines end with LF, CR LF or CR, and the last one needs no end")
    func lines() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "one\r\ntwo\n\nthree\rfour") }
        let (bytes, response) = try await TransferSession().bytes(from: server.text("a"))
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        #expect(lines == ["one", "two", "", "three", "four"] && response.status == 200)
        // The end can be asked for again.
        var iterator = bytes.lines.makeAsyncIterator()
        #expect(try await iterator.next() == nil)
    }

    @Test("bytes and pieces are those that were sent, also of an empty body and of a response to HEAD")
    func content() async throws {
        let file = ServedFile(length: 300_000)
        let server = try await ScriptedServer.start { request in
            request.path == "/empty" ? .response(200) : .file(file, request)
        }
        let session = try TransferSession()
        var all: [UInt8] = []
        for try await byte in try await session.bytes(from: server.text("file")).bytes { all.append(byte) }
        #expect(all == file.pattern.bytes(0..<300_000))
        all = []
        for try await piece in try await session.bytes(from: server.text("file")).bytes.chunks {
            #expect(!piece.isEmpty)
            all += piece
        }
        #expect(all == file.pattern.bytes(0..<300_000))
        for try await _ in try await session.bytes(from: server.text("empty")).bytes { Issue.record("a byte") }
        var head = try TransferRequest(server.text("file"))
        head.method = "HEAD"
        let (none, response) = try await session.bytes(from: head)
        for try await _ in none { Issue.record("a byte") }
        #expect(response.status == 200)
    }

    @Test("a status other than success and a cut are errors")
    func errors() async throws {
        let server = try await ScriptedServer.start { request in
            guard request.path == "/cut" else { return .response(404, text: "missing") }
            let head = Reply.headBytes(200, [("Content-Length", "100")])
            return Reply([.head(head), .bytes(Array("a\nb\n".utf8)), .close])
        }
        var configuration = SessionConfiguration.ephemeral
        configuration.retries = .none
        let session = try TransferSession(configuration: configuration)
        let missing = await #expect(throws: TransferError.self) {
            try await session.bytes(from: server.text("missing"))
        }
        #expect(missing?.code == .httpStatus)
        var any = try TransferRequest(server.text("missing"))
        any.acceptsAnyStatus = true
        let (bytes, response) = try await session.bytes(from: any)
        var text: [String] = []
        for try await line in bytes.lines { text.append(line) }
        #expect(response.status == 404 && text == ["missing"])
        let cut = try await session.bytes(from: server.text("cut")).bytes
        text = []
        await #expect(throws: TransferError.self) { for try await line in cut.lines { text.append(line) } }
        #expect(text == ["a", "b"])
    }

    @Test("a reader that waits holds the server up, and one that leaves ends the transfer")
    func backPressure() async throws {
        let file = ServedFile(length: 64 << 20)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let session = try TransferSession()
        func readOne() async throws -> DataTask {
            let (bytes, _) = try await session.bytes(from: server.text("file"))
            var iterator = bytes.makeAsyncIterator()
            #expect(try await iterator.next() == file.pattern.bytes(0..<1).first)
            return bytes.task
        }
        let task = try await readOne()
        let error = await #expect(throws: TransferError.self) { try await task.value }
        #expect(error?.code == .cancelled && server.bodyBytesSent < 64 << 20)
    }

    @Test("cancelling the Swift task that reads ends the transfer")
    func cancellation() async throws {
        let server = try await ScriptedServer.start { _ in
            Reply([.head(Reply.headBytes(200, [("Content-Length", "100")])), .bytes(Array("a\n".utf8)), .stall])
        }
        let session = try TransferSession()
        let (bytes, _) = try await session.bytes(from: server.text("file"))
        let reader = Task { for try await _ in bytes.lines {} }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        let error = await #expect(throws: TransferError.self) { try await bytes.task.value }
        #expect(error?.code == .cancelled)
    }
}

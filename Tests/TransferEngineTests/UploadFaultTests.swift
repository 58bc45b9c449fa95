// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Uploads against servers that mislead")
struct UploadFaultTests {
    private let size: Int64 = 3 << 20

    private func answered(_ exchange: ScriptedExchange, _ status: Int, _ fields: HeaderFields = [:]) {
        exchange.respond(status, fields, framing: .none)
        if !exchange.hasEnded { exchange.end() }
    }

    @Test("a stream whose first bytes have gone is not sent again where the server takes no Expect (417)")
    func lateExpectation() throws {
        let stage = Stage()
        let id = try stage.upload(.stream(PiecewiseStream([[1, 2], [3]])))
        let exchange = try stage.exchange()
        exchange.pull(1)
        self.answered(exchange, 417)
        #expect(stage.failure(id)?.code == .cannotResume && stage.open.isEmpty)
    }

    @Test("a redirect to GET, before the content has been sent, is not a success (RFC 9110 §15.4)")
    func earlyRedirect() throws {
        for (method, status) in [("POST", 302), ("PUT", 303)] {
            let stage = Stage()
            stage.put(self.size)
            let id = try stage.upload { $0.method = method }
            let exchange = try stage.exchange()
            exchange.pull(1 << 20)
            exchange.respond(status, ["Location": "/login", "Content-Length": "0"])
            if !exchange.hasEnded { exchange.end() }
            #expect(stage.failure(id)?.code == .redirects && stage.failure(id)?.message.contains("/login") == true)
            #expect(stage.open.isEmpty)
        }
    }

    @Test("the server's reason for its refusal is reported, if it is a line of plain text")
    func words() throws {
        let long = String(repeating: "x", count: 201)
        let answers = [
            ("text/plain; charset=utf-8", "the disk is full\nand more", ": the disk is full"), ("text/html", "<p>", ""),
            ("text/plain", "a\u{1B}[2J", ""), ("text/plain", long, ""), ("text/plain", "", ""),
        ]
        for (status, (type, body, told)) in answers.flatMap({ answer in [400, 409].map { ($0, answer) } }) {
            let stage = Stage()
            stage.put(10)
            let id = try stage.upload()
            let exchange = try stage.exchange()
            exchange.pull()
            exchange.respond(status, ["Content-Type": type])
            exchange.body(Array(body.utf8))
            exchange.end()
            if status == 409 { self.answered(try stage.exchange(), 404) }
            let message = try #require(stage.failure(id)?.message)
            #expect(told.isEmpty ? !message.contains(":") : message.hasSuffix(told), "\(message)")
        }
    }

    @Test("half an answer is none: the next attempt's stands alone")
    func tornAnswer() throws {
        let stage = Stage()
        stage.put(10)
        let receiver = AnswerCollector()
        let id = try stage.upload { $0.receiver = receiver }
        let first = try stage.exchange()
        first.pull()
        first.respond(200)
        first.body([1, 2])
        first.fail(TransportError(.truncated, "closed"))
        while stage.open.isEmpty { stage.clock.advanceToNext() }
        let second = try stage.exchange()
        second.pull()
        second.respond(200)
        second.body([3])
        second.end()
        #expect(stage.end(id) == "finished" && receiver.bytes.withLock { $0 } == [3])
    }

    @Test("what the server will not show now is not forgotten until there is another")
    func refusedQuestion() throws {
        let stage = Stage()
        stage.put(self.size)
        let journal = MemoryJournal()
        let record = UploadRecord(
            speaks: .tus,
            endpoint: Stage.uploadURL,
            resource: "http://host/r/1",
            length: self.size,
            files: [FileIdentity(size: self.size, modified: 5, changed: 0, device: 1, inode: 1)]
        )
        try journal.write(record)
        let id = try stage.upload { request in
            request.way = .by(.tus)
            request.journal = journal
        }
        // An expired token: everything is refused.
        self.answered(try stage.exchange(), 403)
        let creation = try stage.exchange()
        #expect(creation.request.method == "POST")
        self.answered(creation, 403)
        #expect(stage.end(id) == "failed" && journal.record.withLock { $0 } == record)
    }

    @Test("a changed file ends the upload to resume: the next run restarts, with the same request")
    func staleRecord() throws {
        let stage = Stage()
        stage.put(self.size, modified: 6)
        let journal = MemoryJournal()
        let change: (inout UploadRequest) -> Void = { request in
            request.way = .by(.tus)
            request.journal = journal
            request.record = UploadRecord(
                speaks: .tus,
                endpoint: Stage.uploadURL,
                resource: "http://host/r/1",
                length: self.size,
                files: [FileIdentity(size: self.size, modified: 5, changed: 0, device: 1, inode: 1)]
            )
        }
        let first = try stage.upload(.file("f"), change)
        #expect(stage.failure(first)?.message.contains("changed") == true)
        self.answered(try stage.exchange(), 204)
        let second = try stage.upload(.file("f"), change)
        #expect(stage.end(second) == nil)
        #expect(try stage.exchange().request.method == "POST")
    }

    @Test("two servers behind one name, of which each has another offset, are given up, not asked for ever")
    func alternating() throws {
        for way in [ResumableProtocol.tus, .ietf6] {
            let stage = Stage()
            stage.put(self.size)
            let id = try stage.upload { request in
                request.way = .by(way)
                request.options.retries = 0
                request.record = UploadRecord(
                    speaks: way,
                    endpoint: Stage.uploadURL,
                    resource: "http://host/r/1",
                    length: 3 << 20,
                    files: [FileIdentity(size: 3 << 20, modified: 5, changed: 0, device: 1, inode: 1)]
                )
            }
            var count = 0
            while stage.end(id) == nil, count < 100 {
                count += 1
                let exchange = try stage.exchange()
                if exchange.request.method == "HEAD" {
                    self.answered(exchange, 200, ["Upload-Offset": count % 4 == 1 ? "0" : "10"])
                } else {
                    self.answered(exchange, 409)
                }
            }
            #expect(stage.end(id) == "failed" && count < 40, "\(count)")
        }
    }

    @Test(
        "a server that says nothing to the question what it can is sent the upload all the same",
        arguments: [true, false]
    )
    func ignoredQuestion(hangs: Bool) throws {
        let stage = Stage()
        stage.put(self.size)
        let id = try stage.upload { request in
            request.way = .automatic
            request.options.stallTimeout = .seconds(60)
            request.options.retries = 0
        }
        let question = try stage.exchange()
        #expect(question.request.method == "OPTIONS")
        question.connect()
        if hangs {
            let start = stage.clock.now
            while !question.isCancelled { stage.clock.advanceToNext() }
            #expect(stage.clock.now - start < 12_000_000_000)
        } else {
            question.fail(TransportError(.truncated, "closed"))
        }
        let upload = try stage.exchange()
        #expect(upload.request.method == "PUT" && upload.pull().count == Int(self.size))
        self.answered(upload, 201)
        #expect(stage.end(id) == "finished")
    }

    @Test("the termination goes with what the upload went with, also the URL's own credentials")
    func termination() throws {
        let stage = Stage()
        stage.put(self.size)
        let id = try stage.upload(to: "http://me:secret@host/f") { request in
            request.way = .by(.tus)
            request.fields = [("X-Key", "1")]
        }
        let post = try stage.exchange()
        post.respond(201, ["Location": "/r/1", "Content-Length": "0"])
        post.end()
        try stage.exchange().pull(1 << 20)
        stage.engine.cancel(id)
        let farewell = try stage.exchange()
        #expect(farewell.request.method == "DELETE" && farewell["X-Key"] == "1")
        #expect(farewell["Authorization"] == post["Authorization"] && post["Authorization"] != nil)
    }
}

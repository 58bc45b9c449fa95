// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Keeps a record in memory.
final class MemoryJournal: UploadJournal {
    let record = Mutex<UploadRecord?>(nil)
    let writes = Mutex(0)

    init(_ record: UploadRecord? = nil) { self.record.withLock { $0 = record } }

    func read() throws(StorageError) -> UploadRecord? { self.record.withLock { $0 } }

    func write(_ record: UploadRecord) throws(StorageError) {
        self.record.withLock { $0 = record }
        self.writes.withLock { $0 += 1 }
    }

    func remove() throws(StorageError) { self.record.withLock { $0 = nil } }
}

/// Gives pieces when the test says so, or at once.
final class PiecewiseStream: ContentStream {
    private struct State {
        var pieces: [Result<[UInt8]?, TransferFailure>]
        var waiting: (@Sendable (Result<[UInt8]?, TransferFailure>) -> Void)?
        var isCancelled = false
    }

    let length: Int64?
    private let state: Mutex<State>

    init(_ pieces: [[UInt8]], length: Int64? = nil, ends: Bool = true) {
        self.length = length
        self.state = Mutex(State(pieces: pieces.map { .success($0) } + (ends ? [.success(nil)] : [])))
    }

    var isCancelled: Bool { self.state.withLock { $0.isCancelled } }

    func give(_ piece: Result<[UInt8]?, TransferFailure>) {
        let waiting = self.state.withLock { state in
            if state.waiting == nil { state.pieces.append(piece) }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?(piece)
    }

    func next(_ take: @escaping @Sendable (Result<[UInt8]?, TransferFailure>) -> Void) {
        let piece: Result<[UInt8]?, TransferFailure>? = self.state.withLock { state in
            if !state.pieces.isEmpty { return state.pieces.removeFirst() }
            state.waiting = take
            return nil
        }
        if let piece { take(piece) }
    }

    func cancel() { self.state.withLock { $0.isCancelled = true } }
}

extension Stage {
    static let uploadURL = "http://host/in/f"

    /// Adds an upload.
    @discardableResult
    func upload(
        _ content: UploadContent = .file("f"),
        to url: String = Stage.uploadURL,
        _ change: (inout UploadRequest) -> Void = { _ in }
    ) throws -> TransferID {
        var request = UploadRequest(try HTTPURL(url), content)
        request.name = "f"
        request.asksFrom = nil
        request.options.retries = 3
        change(&request)
        return try self.engine.add(request)
    }

    /// Puts a file there.
    func put(_ length: Int64, at path: String = "f", modified: Int64 = 5, changed: Int64 = 0) {
        var file = MemoryStore.File(TestPattern(seed: 7).bytes(0..<length), modified: modified)
        file.changed = changed
        self.store.add(file, at: path)
    }
}

@Suite("Uploads in one request")
struct UploadTests {
    @Test("a file's bytes are sent whole and in order, with their length and type", arguments: [0, 1, 70_000, 3 << 20])
    func file(size: Int64) throws {
        let stage = Stage()
        stage.put(size)
        let id = try stage.upload()
        let exchange = try stage.exchange()
        #expect(exchange.request.method == "PUT" && exchange["Content-Type"] == "application/octet-stream")
        if size == 0 {
            #expect(exchange.request.body == [] && exchange.request.content == nil)
        } else {
            #expect(exchange.request.content?.length == size)
        }
        #expect(exchange.pull() == TestPattern(seed: 7).bytes(0..<size))
        exchange.respond(201, ["Content-Length": "0"])
        exchange.end()
        #expect(stage.words(id) == ["started", "response", "finished"])
        let completion = try #require(stage.completion(id))
        #expect(completion.bytes == size && completion.sent == size && completion.status == 201)
        #expect(stage.engine.counts.sentBytes == size)
    }

    @Test("parts follow one another: bytes, files, bytes")
    func parts() throws {
        let stage = Stage()
        stage.put(300_000)
        let id = try stage.upload(.parts([.bytes([1, 2]), .file("f"), .bytes([]), .file("f"), .bytes([3])]))
        let exchange = try stage.exchange()
        let file = TestPattern(seed: 7).bytes(0..<300_000)
        #expect(exchange.request.content?.length == 600_003)
        #expect(exchange.pull() == [1, 2] + file + file + [3])
        exchange.respond(200)
        exchange.end()
        #expect(stage.end(id) == "finished")
    }

    @Test("a stream is sent as it comes, with its length where it has one, otherwise until it ends")
    func stream() throws {
        for length in [nil, 5 as Int64?] {
            let stage = Stage()
            let source = PiecewiseStream([[1, 2], [], [3]], length: length, ends: false)
            let id = try stage.upload(.stream(source))
            let exchange = try stage.exchange()
            #expect(exchange.request.content?.length == length)
            #expect(exchange.pull() == [1, 2, 3])
            source.give(.success([4, 5]))
            #expect(exchange.content == (length == nil ? [1, 2, 3, 4, 5] : [1, 2, 3]), "the end is awaited")
            source.give(.success(nil))
            #expect(exchange.content == [1, 2, 3, 4, 5])
            exchange.respond(200)
            exchange.end()
            #expect(stage.end(id) == "finished" && source.isCancelled)
            #expect(stage.completion(id)?.bytes == 5)
        }
    }

    @Test("a stream that gives other than its declared length fails the upload, before the last declared byte is sent")
    func lyingStream() throws {
        let streams: [([[UInt8]], Int64)] = [
            ([[1, 2, 3, 4, 5, 6]], 5), ([[1, 2, 3], [4, 5], [6]], 5), ([[1, 2, 3, 4, 5], [], [6]], 5), ([[1, 2]], 5),
            ([[1]], 0), ([[], [1]], 0),
        ]
        for (pieces, length) in streams {
            let stage = Stage()
            let id = try stage.upload(.stream(PiecewiseStream(pieces, length: length)))
            let exchange = try stage.exchange()
            exchange.pull()
            #expect(exchange.contentEnd == .failed && (length == 0 || exchange.content.count < length))
            exchange.fail(TransportError(.content, "failed"))
            #expect(stage.failure(id)?.code == .fileIO)
            #expect(stage.failure(id)?.message.contains("declared") == true)
        }
    }

    @Test("a stream that was read from is not sent again: the failure says so")
    func streamBreaks() throws {
        let stage = Stage()
        let id = try stage.upload(.stream(PiecewiseStream([[1, 2], [3]])))
        let exchange = try stage.exchange()
        exchange.pull(1)
        exchange.fail(TransportError(.reset, "reset"))
        #expect(stage.end(id) == "failed" && stage.failure(id)?.message.contains("again") == true)
    }

    @Test("a PUT that breaks is sent again from its beginning; a POST is not (RFC 9110 §9.2.2)")
    func retries() throws {
        for method in ["PUT", "POST"] {
            let stage = Stage()
            stage.put(3 << 20)
            let id = try stage.upload { $0.method = method }
            let exchange = try stage.exchange()
            exchange.pull(1 << 20)
            exchange.fail(TransportError(.reset, "reset"))
            guard method == "PUT" else {
                #expect(stage.end(id) == "failed")
                continue
            }
            stage.clock.advanceToNext()
            while stage.open.isEmpty { stage.clock.advanceToNext() }
            let second = try stage.exchange()
            #expect(second.pull() == TestPattern(seed: 7).bytes(0..<3 << 20))
            second.respond(201)
            second.end()
            #expect(stage.end(id) == "finished")
            #expect(stage.completion(id)?.sent ?? 0 > 3 << 20)
        }
    }

    @Test("a POST that never reached the server is tried again")
    func unconnected() throws {
        let stage = Stage()
        stage.put(10)
        let id = try stage.upload { $0.method = "POST" }
        try stage.exchange().fail(TransportError(.connect, "refused"))
        #expect(stage.words(id).last == "retrying")
    }

    @Test("a pooled connection that ended meanwhile costs no attempt, once, where repeating is safe")
    func pooled() throws {
        for method in ["PUT", "POST"] {
            let stage = Stage()
            stage.put(10)
            let id = try stage.upload { $0.method = method }
            let first = try stage.exchange()
            first.pull()
            first.fail(TransportError(.truncated, "closed", onReusedConnection: true))
            if method == "POST" {
                #expect(stage.end(id) == "failed")
                continue
            }
            let second = try stage.exchange()
            #expect(second.pull().count == 10 && stage.retries(id).isEmpty)
            second.fail(TransportError(.truncated, "closed", onReusedConnection: true))
            #expect(stage.retries(id).count == 1)
        }
    }

    @Test("what the server refuses fails with its status; what it may take later is tried again")
    func statuses() throws {
        let answers: [(Int, TransferFailure.Code, Bool)] = [
            (400, .badResponse, false), (404, .notFound, false), (409, .badResponse, false), (413, .tooLarge, false),
            (503, .overloaded, true), (507, .noSpace, false),
        ]
        for (status, code, isRetried) in answers {
            let stage = Stage()
            stage.put(10)
            let id = try stage.upload()
            let exchange = try stage.exchange()
            exchange.pull()
            exchange.respond(status, ["Content-Length": "0"])
            exchange.end()
            if status == 409 {
                // The existing bytes may be the same.
                let question = try stage.exchange()
                #expect(question.request.method == "HEAD")
                question.respond(404, ["Content-Length": "0"])
                question.end()
            }
            #expect(stage.words(id).last == (isRetried ? "retrying" : "failed"), "\(status)")
            if !isRetried { #expect(stage.failure(id)?.code == code && stage.failure(id)?.status == status) }
        }
    }

    @Test("a response before the end of the content ends the upload at once; a success then is a failure")
    func early() throws {
        for status in [413, 200] {
            let stage = Stage()
            stage.put(3 << 20)
            let id = try stage.upload { $0.options.retries = 0 }
            let exchange = try stage.exchange()
            exchange.pull(1 << 20)
            exchange.respond(status, ["Content-Length": "0"])
            if !exchange.hasEnded { exchange.end() }
            #expect(stage.end(id) == "failed" && stage.failure(id)?.status == status)
        }
    }

    @Test("307 and 308 send the content again; 303, and a POST at 301 and 302, ask for the answer (RFC 9110 §15.4)")
    func redirects() throws {
        for method in ["PUT", "POST"] {
            for status in [301, 302, 303, 307, 308] {
                let stage = Stage()
                stage.put(10)
                let id = try stage.upload { $0.method = method }
                let first = try stage.exchange()
                first.pull()
                first.respond(status, ["Location": "/other", "Content-Length": "0"])
                first.end()
                let second = try stage.exchange()
                let isRewritten = status == 303 || (method == "POST" && status < 303)
                #expect(second.request.url.path == "/other")
                #expect(second.request.method == (isRewritten ? "GET" : method), "\(method) \(status)")
                #expect(second.pull().count == (isRewritten ? 0 : 10))
                #expect((second["Content-Type"] == nil) == isRewritten)
                second.respond(200)
                second.end()
                #expect(stage.end(id) == "finished")
            }
        }
    }

    @Test("to another host go neither the caller's fields nor its credentials")
    func foreignRedirect() throws {
        let stage = Stage()
        stage.put(10)
        try stage.upload(to: "http://me:secret@host/f") { $0.fields = [("X-Key", "1"), ("User-Agent", "me")] }
        let first = try stage.exchange()
        #expect(first["Authorization"] != nil && first["X-Key"] == "1")
        first.pull()
        first.respond(307, ["Location": "http://elsewhere/f", "Content-Length": "0"])
        first.end()
        let second = try stage.exchange()
        #expect(second["Authorization"] == nil && second["X-Key"] == nil && second["User-Agent"] == "me")
        #expect(second.pull().count == 10)
        // The way back was chosen by the other host.
        second.respond(307, ["Location": "http://host/g", "Content-Length": "0"])
        second.end()
        let third = try stage.exchange()
        #expect(third.request.url.origin.host == "host")
        #expect(third["Authorization"] == nil && third["X-Key"] == nil && third["User-Agent"] == "me")
    }

    @Test("the server is asked first about what is large; one that refuses to be asked is not asked again (417)")
    func expectation() throws {
        let stage = Stage()
        stage.put(10)
        try stage.upload { $0.asksFrom = 11 }
        #expect(try stage.exchange().request.continueTimeout == nil)
        let other = Stage()
        other.put(10)
        let id = try other.upload { $0.asksFrom = 10 }
        let first = try other.exchange()
        #expect(first.request.continueTimeout == 1_000_000_000)
        first.respond(417, ["Content-Length": "0"])
        if !first.hasEnded { first.end() }
        let second = try other.exchange()
        #expect(second.request.continueTimeout == nil && second.pull().count == 10)
        second.respond(201)
        second.end()
        #expect(other.end(id) == "finished")
    }

    @Test("a file that changes while it is sent fails the upload, however it changes")
    func changes() throws {
        for change in 0..<6 {
            let stage = Stage()
            stage.put(3 << 20)
            let id = try stage.upload()
            let exchange = try stage.exchange()
            exchange.pull(change == 3 || change == 5 ? .max : 1 << 20)
            switch change {
            case 0, 3: stage.put(3 << 20, modified: 6)
            // Its modification time was restored.
            case 4, 5: stage.put(3 << 20, changed: 1)
            case 1: stage.put(1 << 20)
            default: stage.put(4 << 20)
            }
            if change == 3 || change == 5 {
                // The kernel has taken everything, and the server reports success.
                exchange.respond(201)
                exchange.end()
            } else {
                exchange.pull()
                #expect(exchange.contentEnd == .failed)
                exchange.fail(TransportError(.content, "failed"))
            }
            #expect(stage.failure(id)?.code == .fileIO && stage.failure(id)?.message.contains("changed") == true)
        }
    }

    @Test("the last bytes are sent only after all files were compared, also those sent before", arguments: ["f", "g"])
    func lastBytes(changing path: String) throws {
        let stage = Stage()
        stage.put(3 << 20)
        stage.put(100_000, at: "g")
        let id = try stage.upload(.parts([.file("f"), .bytes([1]), .file("g"), .bytes([2])]))
        let exchange = try stage.exchange()
        let beforeLast = (3 << 20) + 100_002 - (64 << 10)
        #expect(exchange.pull(beforeLast).count == beforeLast)
        stage.put(path == "f" ? 3 << 20 : 100_000, at: path, modified: 6)
        #expect(exchange.pull().count == beforeLast && exchange.contentEnd == .failed)
        exchange.fail(TransportError(.content, "failed"))
        #expect(stage.failure(id)?.message.contains("\(path) changed during the upload") == true)
    }

    @Test("a missing or special file fails before any request")
    func missing() throws {
        let stage = Stage()
        let id = try stage.upload()
        #expect(stage.failure(id)?.code == .cannotOpen && stage.transport.exchanges.isEmpty)
    }

    @Test("the answer's body goes to the receiver")
    func answer() throws {
        let stage = Stage()
        stage.put(10)
        let receiver = AnswerCollector()
        let id = try stage.upload { $0.receiver = receiver }
        let exchange = try stage.exchange()
        exchange.pull()
        exchange.respond(200)
        exchange.body([1, 2])
        exchange.body([3])
        exchange.end()
        #expect(receiver.bytes.withLock { $0 } == [1, 2, 3] && stage.completion(id)?.received == 3)
    }

    @Test("a cancelled upload ends as cancelled; a paused one restarts and says so")
    func interruptions() throws {
        let stage = Stage()
        stage.put(3 << 20)
        let id = try stage.upload()
        try stage.exchange().pull(1 << 20)
        stage.engine.pause(id)
        #expect(stage.words(id).last == "paused" && stage.open.isEmpty)
        stage.engine.resume(id)
        #expect(try stage.exchange().pull(1).count > 0)
        stage.engine.cancel(id)
        #expect(stage.end(id) == "cancelled" && stage.open.isEmpty)
        let notes = stage.recorder.events(of: id).compactMap { if case .note(let text) = $0.kind { text } else { nil } }
        #expect(notes.contains { $0.contains("restarts") })
    }

    @Test("nothing sent for a while ends an attempt; so does no answer; waiting for the rate limit does not")
    func stalls() throws {
        for pulls in [1 << 20, Int.max] {
            let stage = Stage()
            stage.put(3 << 20)
            let id = try stage.upload { $0.options.stallTimeout = .seconds(10) }
            try stage.exchange().pull(pulls)
            for _ in 0..<60 { stage.clock.advance(by: .milliseconds(200)) }
            #expect(stage.words(id).contains("retrying"))
        }
    }

    @Test("a rate limit holds over time, of one upload and of all", arguments: [true, false])
    func rates(own: Bool) throws {
        let stage = Stage(rate: own ? nil : 100_000)
        stage.put(400_000)
        let id = try stage.upload { if own { $0.options.rateLimit = 100_000 } }
        try stage.exchange().pull()
        let start = stage.clock.now
        while try stage.exchange().contentEnd == nil { stage.clock.advanceToNext() }
        let seconds = Double(stage.clock.now - start) / 1e9
        #expect(seconds > 3 && seconds < 4.5, "\(seconds)")
        try stage.exchange().respond(201)
        try stage.exchange().end()
        #expect(stage.end(id) == "finished")
    }

    @Test("uploads share the queue's limits with downloads")
    func queue() throws {
        let stage = Stage(limit: 2, perHost: 1)
        stage.put(10)
        try stage.upload()
        try stage.upload()
        try stage.add("http://host/d")
        #expect(stage.open.count == 1)
        try stage.upload(to: "http://other/f")
        #expect(stage.open.count == 2 && stage.engine.counts.waiting == 2)
    }
}

/// Takes bytes.
final class AnswerCollector: AnswerReceiver {
    let bytes = Mutex<[UInt8]>([])

    func take(_ bytes: UnsafeRawBufferPointer) { self.bytes.withLock { $0 += bytes } }

    func beginAnew() { self.bytes.withLock { $0 = [] } }
}

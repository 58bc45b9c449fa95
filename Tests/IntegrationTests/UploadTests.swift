// SPDX-License-Identifier: Apache-2.0
import Platform
import FileStorage
import HTTPTransport
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// A directory with a file to send, and how to send it.
final class UploadHarness: Sendable {
    let directory: TemporaryDirectory
    let pattern = TestPattern(seed: 3)

    init() throws { self.directory = try TemporaryDirectory() }

    /// Makes a file of so many bytes.
    func file(_ size: Int64, name: String = "file.bin") throws -> String {
        let path = self.directory.path(name)
        try self.directory.write(self.pattern.bytes(0..<size), to: name)
        return path
    }

    /// Makes, or cuts, a file of zeros that takes no space, last changed long ago: whatever is written to it shows, though
    /// a filesystem's clock goes in steps.
    func sparse(_ size: Int, name: String = "file.bin") throws -> String {
        let path = self.directory.path(name)
        let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
        defer { close(descriptor) }
        let past = timespec(tv_sec: 1_500_000_000, tv_nsec: 0)
        guard descriptor >= 0, ftruncate(descriptor, off_t(size)) == 0, futimens(descriptor, [past, past]) == 0 else {
            throw TestSupportError("cannot make \(path)")
        }
        return path
    }

    /// Writes a byte into a file, and nothing else changes.
    func touch(_ name: String) throws {
        let descriptor = open(self.directory.path(name), O_WRONLY)
        defer { close(descriptor) }
        var byte: UInt8 = 1
        guard descriptor >= 0, pwrite(descriptor, &byte, 1, 17) == 1 else { throw TestSupportError("cannot write") }
    }

    /// Writes a byte into a file and restores its modification time, as `touch -r` does: size, inode and modification time
    /// stay, and only the change time (ctime) shows it.
    ///
    /// Repeats the write until the change time differs: on some kernels it advances in steps of several milliseconds.
    func rewrite(_ name: String) throws {
        let descriptor = open(self.directory.path(name), O_WRONLY)
        defer { close(descriptor) }
        var (before, after) = (stat(), stat())
        guard descriptor >= 0, fstat(descriptor, &before) == 0 else { throw TestSupportError("cannot open \(name)") }
        let end = ContinuousClock.now + .seconds(20)
        var byte: UInt8 = 1
        repeat {
            guard pwrite(descriptor, &byte, 1, before.st_size - 1) == 1,
                futimens(descriptor, [before.modificationTime, before.modificationTime]) == 0,
                fstat(descriptor, &after) == 0, ContinuousClock.now < end
            else { throw TestSupportError("cannot rewrite \(name)") }
        } while after.statusChangeTime.tv_sec == before.statusChangeTime.tv_sec
            && after.statusChangeTime.tv_nsec == before.statusChangeTime.tv_nsec
    }

    func journal(_ key: String = "k") -> DiskUploadJournal {
        DiskUploadJournal(in: self.directory.path("state/uploads"), for: { [key] })
    }

    /// Sends with a separate engine, and waits for the end.
    func send(
        _ content: UploadContent,
        to url: String,
        tls: Bool = false,
        _ change: (inout UploadRequest) -> Void = { _ in }
    ) async throws -> Outcome {
        try await self.sendAll([self.request(content, to: url, change)], insecure: tls)[0]
    }

    func request(
        _ content: UploadContent,
        to url: String,
        _ change: (inout UploadRequest) -> Void = { _ in }
    ) throws -> UploadRequest {
        var request = UploadRequest(try HTTPURL(url), content)
        request.options.retries = 2
        request.options.stallTimeout = .seconds(20)
        change(&request)
        return request
    }

    func sendAll(
        _ requests: [UploadRequest],
        engine configuration: TransferEngine.Configuration = .init(),
        insecure: Bool = false
    ) async throws -> [Outcome] {
        await Turnstile.shared.enter()
        defer { Turnstile.shared.leave() }
        var transport = HTTPTransport.Configuration()
        if insecure { transport.tls.verification = .none }
        let engine = try LiveEngine.make(configuration, transport: transport, store: DiskStore())
        let recorder = EventRecorder()
        let start = ContinuousClock.now
        let last = Mutex(start)
        engine.observe { event in
            recorder.record(event)
            last.withLock { $0 = .now }
        }
        let ids = try requests.map { try engine.add($0) }
        engine.close()
        engine.start()
        await engine.waitUntilDrained()
        let seconds = (last.withLock { $0 } - start) / .seconds(1)
        await engine.stop()
        return ids.map { Outcome(events: recorder.events(of: $0), seconds: seconds) }
    }
}

@Suite("Uploads over sockets", .timeLimit(.minutes(5)))
struct UploadTests {
    @Test("a file arrives as it is, of any size", arguments: [0, 1, 65_536, 65_537, 1 << 20, 6_000_003])
    func file(size: Int64) async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start()
        let outcome = try await harness.send(.file(harness.file(size)), to: server.text("/in/f"))
        #expect(outcome.completion?.sent == size, "\(outcome.story)")
        let upload = try #require(server.uploads["/in/f"])
        #expect(upload.isWhole && harness.pattern.holds(upload.bytes, size))
        #expect(server.requests.last?["Content-Length"] == "\(size)")
    }

    @Test("over TLS the same bytes arrive")
    func encrypted() async throws {
        let harness = try UploadHarness()
        let size: Int64 = 3_000_001
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(201) }
        let outcome = try await harness.send(.file(harness.file(size)), to: server.text("/f"), tls: true)
        #expect(outcome.completion != nil, "\(outcome.story)")
        let request = try #require(server.requests.first)
        #expect(harness.pattern.holds(request.body, size))
    }

    @Test(
        "a PUT whose name is taken by the same content has nothing to do; by another it fails",
        arguments: [true, false]
    )
    func taken(isSame: Bool) async throws {
        let harness = try UploadHarness()
        let path = try harness.file(1000)
        let digest = PlainDigests.sha256(isSame ? harness.pattern.bytes(0..<1000) : [1])
        let there = UploadServer.Reply(
            200,
            [("Repr-Digest", "sha-256=:\(Base64.encode(digest)):")],
            body: String(repeating: "x", count: 1000)
        )
        let server = try await UploadServer.start {
            $0.refusals = ["PUT": .init(409), "POST": .init(409), "HEAD": there]
        }
        let outcome = try await harness.send(.file(path), to: server.text("/f"))
        #expect((outcome.completion != nil) == isSame, "\(outcome.story)")
        #expect(outcome.completion?.skipped == (isSame ? true : nil))
        #expect(outcome.failure?.status == (isSame ? nil : 409))
        #expect(server.requests.map(\.method) == ["PUT", "HEAD"])
        #expect(server.requests.last?["Want-Repr-Digest"] != nil && server.requests.last?["Content-Type"] == nil)
        // Bytes that come once, and what is no PUT, are not compared.
        let post = try await harness.send(.file(path), to: server.text("/f")) { $0.method = "POST" }
        #expect(post.completion == nil && server.requests.count { $0.method == "HEAD" } == 1)
    }

    @Test("several files and bytes arrive as one content")
    func parts() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start()
        let (first, second) = (try harness.file(700_000, name: "a"), try harness.file(300_000, name: "b"))
        let content = UploadContent.parts([.bytes([1, 2, 3]), .file(first), .file(second), .file(first), .bytes([4])])
        let outcome = try await harness.send(content, to: server.text("/f"))
        #expect(outcome.completion != nil, "\(outcome.story)")
        let one = harness.pattern.bytes(0..<700_000)
        #expect(server.only?.bytes == [1, 2, 3] + one + harness.pattern.bytes(0..<300_000) + one + [4])
    }

    @Test("a stream without a length goes in chunks, no faster than it is taken")
    func stream() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start()
        let source = CountingStream(pieces: 60, of: 50_000)
        let outcome = try await harness.send(.stream(source), to: server.text("/f")) { $0.method = "POST" }
        #expect(outcome.completion?.sent == 3_000_000, "\(outcome.story)")
        #expect(server.requests.last?["Transfer-Encoding"] == "chunked")
        #expect(server.only?.bytes.count == 3_000_000)
        #expect(server.only?.bytes.enumerated().allSatisfy { $1 == UInt8(truncatingIfNeeded: $0 / 50_000) } == true)
    }

    @Test("the content follows on 100 Continue, and also where the server says nothing", arguments: [true, false])
    func expectation(says: Bool) async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start { $0.saysContinue = says }
        let outcome = try await harness.send(.file(harness.file(2 << 20)), to: server.text("/f")) {
            $0.askTimeout = says ? .seconds(60) : .milliseconds(300)
        }
        #expect(outcome.completion != nil && server.requests.last?["Expect"] == "100-continue", "\(outcome.story)")
        #expect(harness.pattern.holds(server.only?.bytes ?? [], 2 << 20))
    }

    @Test("a server that refuses at once is not sent the content")
    func refusedBeforeContent() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start { $0.refusals["PUT"] = .init(413, closes: true) }
        let outcome = try await harness.send(.file(harness.sparse(40 << 20)), to: server.text("/f")) {
            $0.askTimeout = .seconds(60)
        }
        #expect(outcome.failure?.code == .tooLarge && outcome.failure?.status == 413, "\(outcome.story)")
        #expect(server.received == 0)
    }

    @Test("a server that answers and closes while it is sent to: its answer counts, not the broken connection")
    func refusedMidway() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start { $0.refusals["PUT"] = .init(413, closes: true) }
        for _ in 0..<5 {
            let outcome = try await harness.send(.file(harness.sparse(40 << 20)), to: server.text("/f")) {
                $0.asksFrom = nil
            }
            #expect(outcome.failure?.status == 413, "\(outcome.story)")
        }
    }

    @Test("a broken connection is replaced, and the content sent again")
    func retry() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start { $0.cuts = [1_000_000] }
        let outcome = try await harness.send(.file(harness.file(3 << 20)), to: server.text("/f"))
        #expect(outcome.completion != nil && outcome.retries == 1, "\(outcome.story)")
        #expect(harness.pattern.holds(server.only?.bytes ?? [], 3 << 20))
    }

    @Test("307 repeats the content at the new place")
    func redirect() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start { $0.redirects["/f"] = (307, "/g") }
        let outcome = try await harness.send(.file(harness.file(3 << 20)), to: server.text("/f"))
        #expect(outcome.completion != nil, "\(outcome.story)")
        #expect(harness.pattern.holds(server.uploads["/g"]?.bytes ?? [], 3 << 20))
    }

    @Test("a file that shrinks or is written while it is sent fails clearly", arguments: [true, false])
    func changes(shrinks: Bool) async throws {
        let harness = try UploadHarness()
        // It cannot end before its file is changed.
        let server = try await UploadServer.start { $0.holdsAt = 1_000_000 }
        let path = try harness.sparse(40 << 20)
        async let sent = harness.send(.file(path), to: server.text("/f")) { request in
            request.asksFrom = nil
            request.options.stallTimeout = .seconds(120)
        }
        await server.waitForRequests(1)
        if shrinks {
            _ = try harness.sparse(1000)
        } else {
            try harness.touch("file.bin")
        }
        let outcome = try await sent
        #expect(outcome.failure?.code == .fileIO, "\(outcome.story)")
        #expect(outcome.failure?.message.contains("changed") == true)
        #expect(server.only?.isWhole != true)
    }

    @Test(
        "a file that is rewritten while it is sent and gets its modification time back fails (ctime)",
        arguments: [false, true]
    )
    func rewritten(isResumable: Bool) async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.holdsAt = 1_000_000
        }
        let path = try harness.sparse(40 << 20)
        async let sent = harness.send(.file(path), to: server.text("/in/")) { request in
            request.way = isResumable ? .by(.tus) : .plain
            request.journal = harness.journal()
            request.asksFrom = nil
            request.options.stallTimeout = .seconds(120)
        }
        await server.waitForBytes(1_000_000)
        try harness.rewrite("file.bin")
        server.change { $0.holdsAt = nil }
        let outcome = try await sent
        #expect(outcome.failure?.code == .fileIO, "\(outcome.story)")
        #expect(outcome.failure?.message.contains("changed") == true)
        guard isResumable else { return #expect(server.only?.isWhole != true) }
        // The server has deleted it before the engine reports that it has drained; the next process restarts the upload.
        #expect(server.requests.last?.method == "DELETE" && server.uploads.isEmpty)
        let left = try harness.journal().read()
        #expect(left == nil)
    }

    @Test("many small files share their connections")
    func many() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start()
        let path = try harness.file(2000)
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = 8
        let requests = try (0..<500).map { try harness.request(.file(path), to: server.text("/f\($0)")) }
        let outcomes = try await harness.sendAll(requests, engine: configuration)
        #expect(outcomes.allSatisfy { $0.completion != nil })
        #expect(server.uploads.count == 500 && server.connectionCount <= 16)
        #expect(server.uploads.values.allSatisfy { harness.pattern.holds($0.bytes, 2000) })
    }

    @Test("a rate limit holds")
    func rate() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start()
        let outcome = try await harness.send(.file(harness.file(1_000_000)), to: server.text("/f")) {
            $0.options.rateLimit = 500_000
        }
        // A busy machine may be late.
        #expect(outcome.completion != nil && outcome.seconds > 1.5 && outcome.seconds < 30, "\(outcome.seconds)")
    }
}

@Suite("Resumable uploads over sockets", .timeLimit(.minutes(5)))
struct ResumableUploadTests {
    private static let size: Int64 = 4_345_678

    @Test(
        "cut off again and again, the file arrives whole, and no acknowledged byte is sent twice",
        arguments: ResumableProtocol.allCases
    )
    func cuts(speaks: ResumableProtocol) async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.drafts = [3, 5, 6]
            behaviour.cuts = [0, 1, 500_000, 1_500_000, 65_536, 1_234_567]
        }
        let outcome = try await harness.send(.file(harness.file(Self.size)), to: server.text("/in")) { request in
            request.method = "POST"
            request.way = .by(speaks)
            request.options.retries = 4
        }
        #expect(outcome.completion != nil && outcome.retries >= 4, "\(outcome.story)")
        let upload = try #require(server.only)
        #expect(upload.isWhole && harness.pattern.holds(upload.bytes, Self.size))
        #expect(server.received == Self.size)
    }

    @Test("asked, each server is spoken to in its own protocol")
    func automatic() async throws {
        let harness = try UploadHarness()
        for kind in ["tus", "draft", "plain"] {
            let server = try await UploadServer.start { behaviour in
                behaviour.speaksTus = kind == "tus"
                behaviour.drafts = kind == "draft" ? [6] : []
                behaviour.cuts = [2_000_000]
            }
            let outcome = try await harness.send(.file(harness.file(Self.size)), to: server.text("/in/")) { request in
                request.way = .automatic
                request.metadata = [("filename", "f")]
            }
            #expect(outcome.completion != nil, "\(kind)\n\(outcome.story)")
            #expect(server.uploads.values.contains { $0.isWhole && harness.pattern.holds($0.bytes, Self.size) })
            // Uploads that cannot be resumed restart.
            #expect((server.received > Self.size) == (kind == "plain"))
            if kind == "tus" { #expect(server.only?.metadata == "filename Zg==") }
        }
    }

    @Test("checksums are sent, and a part that arrived wrong would be sent again")
    func checksums() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.checksums = [.sha256]
        }
        let size: Int64 = 9_000_000
        let outcome = try await harness.send(.file(harness.file(size)), to: server.text("/in/")) { request in
            request.way = .by(.tus)
            request.checksum = .sha256
        }
        #expect(outcome.completion != nil, "\(outcome.story)")
        let patches = server.requests.filter { $0.method == "PATCH" }
        #expect(patches.count == 2 && patches.allSatisfy { $0["Upload-Checksum"] != nil })
        #expect(harness.pattern.holds(server.only?.bytes ?? [], size))
    }

    @Test("another engine resumes from the journal on disk; a complete upload leaves no journal")
    func journal() async throws {
        let harness = try UploadHarness()
        let path = try harness.file(Self.size)
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.cuts = [2_000_000]
        }
        let first = try await harness.send(.file(path), to: server.text("/in/")) { request in
            request.way = .by(.tus)
            request.journal = harness.journal()
            request.options.retries = 0
        }
        let kept = try harness.journal().read()
        #expect(first.failure != nil && kept != nil)
        let second = try await harness.send(.file(path), to: server.text("/in/")) { request in
            request.way = .by(.tus)
            request.journal = harness.journal()
        }
        #expect(second.completion != nil, "\(second.story)")
        #expect(server.received == Self.size && harness.pattern.holds(server.only?.bytes ?? [], Self.size))
        let left = try harness.journal().read()
        #expect(left == nil)
    }

    @Test("a file that is rewritten between two processes and gets its modification time back is not continued (ctime)")
    func rewritten() async throws {
        let harness = try UploadHarness()
        let path = try harness.file(Self.size)
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.cuts = [2_000_000]
        }
        func send() async throws -> Outcome {
            try await harness.send(.file(path), to: server.text("/in/")) { request in
                request.way = .by(.tus)
                request.journal = harness.journal()
                request.options.retries = 0
            }
        }
        #expect(try await send().failure != nil && server.only?.bytes.count == 2_000_000)
        try harness.rewrite("file.bin")
        let second = try await send()
        #expect(second.failure?.message.contains("changed") == true, "\(second.story)")
        #expect(server.requests.last?.method == "DELETE" && server.uploads.isEmpty)
        #expect(try await send().completion != nil)
        let isNew = try server.only?.bytes == harness.directory.read("file.bin")
        #expect(isNew)
    }

    @Test("a server that forgets the upload gets it again")
    func forgotten() async throws {
        let harness = try UploadHarness()
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.cuts = [2_000_000]
            behaviour.forgetsAfter = 1
        }
        let outcome = try await harness.send(.file(harness.file(Self.size)), to: server.text("/in/")) {
            $0.way = .by(.tus)
        }
        #expect(outcome.completion != nil, "\(outcome.story)")
        #expect(harness.pattern.holds(server.only?.bytes ?? [], Self.size))
    }

    @Test("random cuts: the right bytes, and each acknowledged one sent once", arguments: [1, 2, 3, 4])
    func randomCuts(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let harness = try UploadHarness()
        let cuts = (0..<20).map { _ in Int64.random(in: 1...300_000, using: &random) }
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = seed % 2 == 0
            behaviour.drafts = [6]
            behaviour.cuts = cuts
        }
        let outcome = try await harness.send(.file(harness.file(Self.size)), to: server.text("/in/")) {
            $0.way = .automatic
        }
        #expect(outcome.completion != nil, "\(outcome.story)")
        #expect(server.received == Self.size && harness.pattern.holds(server.only?.bytes ?? [], Self.size))
    }
}

extension TestPattern {
    /// Whether bytes are the first of the pattern; says no more, for they are many.
    func holds(_ bytes: [UInt8], _ count: Int64) -> Bool {
        bytes.count == count && bytes.withUnsafeBytes { self.firstDifference(in: $0) } == nil
    }
}

/// Returns pieces, each of a different byte, as fast as they are requested.
final class CountingStream: ContentStream {
    private let left: Mutex<Int>
    private let pieces: Int
    private let size: Int

    init(pieces: Int, of size: Int) {
        self.left = Mutex(pieces)
        self.pieces = pieces
        self.size = size
    }

    var length: Int64? { nil }

    func next(_ take: @escaping @Sendable (Result<[UInt8]?, TransferFailure>) -> Void) {
        let number = self.left.withLock { left -> Int? in
            guard left > 0 else { return nil }
            left -= 1
            return self.pieces - left - 1
        }
        take(.success(number.map { Array(repeating: UInt8(truncatingIfNeeded: $0), count: self.size) }))
    }

    func cancel() {}
}

// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// The rules for resuming a partial file.
@Suite(.timeLimit(.minutes(5)))
struct ResumeTests {
    private func resume(
        _ file: ServedFile = ServedFile(length: fileLength),
        retries: Int = 2,
        then change: @escaping @Sendable (inout ServedFile) -> Void
    ) async throws -> (Harness, Outcome, [RecordedRequest], ServedFile, sent: Int64) {
        let harness = try Harness()
        let served = Served(file)
        let server = try await serve(served)
        try await harness.leavePartial(served, server.text("file.bin"))
        let before = server.requests.count
        let sent = server.bodyBytesSent
        served.change(change)
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = retries }
        let requests = Array(server.requests[before...])
        await server.stop()
        return (harness, outcome, requests, served.file, server.bodyBytesSent - sent)
    }

    @Test("206 with the requested start, total and validator: continues, and requests nothing twice")
    func goesOn() async throws {
        let (harness, outcome, requests, file, sent) = try await self.resume { _ in }
        harness.expectWhole(outcome, file)
        #expect(requests.first?["Range"]?.hasPrefix("bytes=\(cutLength)-") == true)
        #expect(requests.first?["If-Range"] == "\"v1\"")
        #expect(requests.first?["Accept-Encoding"] == "identity")
        #expect(sent == fileLength - cutLength)
    }

    @Test("Last-Modified is a strong validator without an ETag, if it is a second older than Date")
    func lastModified() async throws {
        var file = ServedFile(length: fileLength, entityTag: nil)
        file.lastModified = "Tue, 01 Jul 2025 10:00:00 GMT"
        let (harness, outcome, requests, served, _) = try await self.resume(file) { _ in }
        harness.expectWhole(outcome, served)
        #expect(requests.first?["If-Range"] == "Tue, 01 Jul 2025 10:00:00 GMT")
    }

    @Test(
        "without a strong validator 64 KiB are compared within the response, and no If-Range is sent",
        arguments: [
            ("W/\"v1\"", "Sat, 21 Nov 2026 12:00:00 GMT"), (nil, "Sat, 21 Nov 2026 12:00:00 GMT"), (nil, nil),
        ] as [(String?, String?)]
    )
    func comparesBytes(_ entityTag: String?, _ lastModified: String?) async throws {
        var file = ServedFile(length: fileLength, entityTag: entityTag)
        file.lastModified = lastModified
        let (harness, outcome, requests, served, sent) = try await self.resume(file) { _ in }
        harness.expectWhole(outcome, served)
        #expect(requests.compactMap { $0["If-Range"] }.isEmpty)
        #expect(requests.first?["Range"]?.hasPrefix("bytes=\(cutLength - 65_536)-") == true)
        #expect(sent == fileLength - cutLength + 65_536)
        #expect(outcome.completion?.consistency == .overlap)
        #expect(outcome.completion?.verified == false)
    }

    @Test("equal weak tags with an equal strong Last-Modified are of one version: nothing is compared")
    func weakTag() async throws {
        let (harness, outcome, requests, served, sent) = try await self.resume(
            ServedFile(length: fileLength, entityTag: "W/\"v1\"")
        ) { _ in }
        harness.expectWhole(outcome, served)
        #expect(requests.first?["If-Range"] == nil)
        #expect(sent == fileLength - cutLength)
        #expect(outcome.completion?.consistency == .lastModified)
    }

    @Test("a 206 without the validators that the 200 had: the range is requested again, with an overlap to compare")
    func validatorsMissing() async throws {
        let (harness, outcome, requests, served, _) = try await self.resume { file in
            file.entityTag = nil
            file.lastModified = nil
            file.rangeFault = .ignoresIfRange
        }
        harness.expectWhole(outcome, served)
        #expect(requests.count == 2)
        #expect(requests.last?["Range"]?.hasPrefix("bytes=\(cutLength - 65_536)-") == true)
        #expect(outcome.completion?.consistency == .overlap)
    }

    @Test("without a validator, other bytes on the server: starts over")
    func comparedBytesDiffer() async throws {
        var file = ServedFile(length: fileLength, entityTag: nil)
        file.lastModified = nil
        let (harness, outcome, _, served, _) = try await self.resume(file) { $0.pattern = TestPattern(seed: 99) }
        harness.expectWhole(outcome, served)
    }

    @Test("206 with another start: starts over")
    func wrongStart() async throws {
        let (harness, outcome, _, file, _) = try await self.resume { $0.rangeFault = .wrongStart(100) }
        harness.expectWhole(outcome, file)
    }

    @Test(
        "206 with Content-Range missing or malformed: the attempt fails; without ranges if that repeats",
        arguments: [nil, "bytes", "bytes 5-4/10", "bytes a-b/c", "items 0-1/2", "bytes 99999999999999999999-1/2"]
    )
    func badContentRange(_ value: String?) async throws {
        let (harness, outcome, requests, file, _) = try await self.resume(retries: 1) { file in
            file.rangeFault = value.map { .contentRange($0) } ?? .missingContentRange
        }
        harness.expectWhole(outcome, file)
        #expect(requests.map { $0["Range"] == nil } == [false, false, true])
    }

    @Test("an unrequested 206 of the complete file is a 200")
    func uninvited() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.rangeFault = .uninvited
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = 1 }
        #expect(server.requests.map { $0["Range"] } == [nil])
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("206 with the total *: accepted")
    func unknownTotal() async throws {
        let (harness, outcome, _, file, sent) = try await self.resume { $0.rangeFault = .unknownTotal }
        harness.expectWhole(outcome, file)
        #expect(sent == fileLength - cutLength)
    }

    @Test("multipart/byteranges is never written into the file: one more request, without a range")
    func multipart() async throws {
        let (harness, outcome, requests, file, _) = try await self.resume(retries: 1) { $0.rangeFault = .multipart }
        harness.expectWhole(outcome, file)
        #expect(requests.map { $0["Range"] == nil } == [false, true])
    }

    @Test("200 to a range request, ranges not supported: starts over")
    func wholeAnswer() async throws {
        let (harness, outcome, _, file, sent) = try await self.resume { $0.supportsRanges = false }
        harness.expectWhole(outcome, file)
        #expect(sent >= fileLength)
    }

    @Test("the file changed, If-Range answered by 200: the new content, whole", arguments: [fileLength, 2_000_000])
    func changed(_ length: Int64) async throws {
        let (harness, outcome, _, file, _) = try await self.resume { file in
            file.pattern = TestPattern(seed: 2)
            file.entityTag = "\"v2\""
            file.length = length
        }
        harness.expectWhole(outcome, file)
    }

    @Test("206 with another ETag from a server that ignores If-Range: starts over, mixes nothing")
    func changedBehindOurBack() async throws {
        let (harness, outcome, _, file, _) = try await self.resume { file in
            file.pattern = TestPattern(seed: 2)
            file.entityTag = "\"v2\""
            file.rangeFault = .ignoresIfRange
        }
        harness.expectWhole(outcome, file)
    }

    @Test("every byte is present but the end was not seen: the last bytes are requested, never any beyond them")
    func alreadyComplete() async throws {
        let harness = try Harness()
        let file = ServedFile(length: fileLength)
        let server = try await ScriptedServer.start { request in
            if request["Range"] != nil { return .file(file, request) }
            let head = Reply.headBytes(
                200,
                [("ETag", "\"v1\""), ("Accept-Ranges", "bytes"), ("Transfer-Encoding", "chunked")]
            )
            // Everything arrives but the last chunk.
            return Reply([.head(head), .pattern(file.pattern, 0..<fileLength, chunked: true), .close])
        }
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        await server.stop()
        #expect(server.requests.allSatisfy { $0["Range"] != "bytes=\(fileLength)-" })
        #expect(server.bodyBytesSent == fileLength + 1)
    }

    @Test("416 with another size: starts over once")
    func unsatisfiable() async throws {
        let (harness, outcome, _, file, _) = try await self.resume { $0.rangeFault = .unsatisfiable(total: 17) }
        harness.expectWhole(outcome, file)
    }

    @Test("412: starts over")
    func preconditionFailed() async throws {
        let (harness, outcome, _, file, _) = try await self.resume { $0.rangeFault = .preconditionFailed }
        harness.expectWhole(outcome, file)
    }

    @Test("206 with another Content-Encoding: restarts with identity")
    func encodedPart() async throws {
        let (harness, outcome, requests, file, _) = try await self.resume { $0.rangeFault = .contentEncoding("gzip") }
        harness.expectWhole(outcome, file)
        #expect(requests.allSatisfy { $0["Accept-Encoding"] == "identity" })
    }

    @Test("the total changed midway: starts over")
    func totalChanged() async throws {
        let (harness, outcome, _, file, _) = try await self.resume { file in
            file.rangeFault = .contentRange("bytes \(cutLength)-\(fileLength - 1)/\(fileLength + 5)")
        }
        harness.expectWhole(outcome, file)
    }

    @Test("a total that changes with every response ends with a failure")
    func totalKeepsChanging() async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { request in
            var file = ServedFile(length: fileLength + Int64(request.requestIndex) * 1000)
            file.rangeFault = .ignoresIfRange
            file.interruption = .closeAfter(1_100_000)
            return .file(file, request)
        }
        let outcome = try await harness.fetch(server.text("file.bin"))
        #expect(outcome.failure != nil, "\(outcome.story)")
        #expect(server.requests.count < 30)
        await server.stop()
    }

    @Test("an ETag that changes with every request: bytes are compared, the file completes")
    func changingEntityTag() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.change = .entityTagEachTime
        file.interruption = .closeAfter(1_200_000)
        file.interruptedResponses = 6
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = 5 }
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("a partial file of another URL is never continued")
    func otherURL() async throws {
        let harness = try Harness()
        let served = Served(ServedFile(length: fileLength))
        let server = try await serve(served)
        try await harness.leavePartial(served, server.text("file.bin"))
        let other = ServedFile(TestPattern(seed: 5), length: fileLength)
        let second = try await serve(Served(other))
        let outcome = try await harness.fetch(second.text("file.bin"))
        harness.expectWhole(outcome, other, name: "file.1.bin", alone: false)
        #expect(harness.directory.contains("file.bin.part"))
        await server.stop()
        await second.stop()
    }

    @Test("a .part that no journal of ours vouches for is left alone")
    func foreignPartial() async throws {
        let harness = try Harness()
        try harness.directory.write([1, 2, 3], to: "file.bin.part")
        let served = Served(ServedFile(length: fileLength))
        let server = try await serve(served)
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, served.file, name: "file.1.bin", alone: false)
        #expect(try harness.directory.read("file.bin.part") == [1, 2, 3])
        await server.stop()
    }

    @Test("if the partial file is shorter than its journal says, the file is believed")
    func truncatedPartial() async throws {
        let harness = try Harness()
        let served = Served(ServedFile(length: fileLength))
        let server = try await serve(served)
        try await harness.leavePartial(served, server.text("file.bin"))
        let kept = Array(try harness.directory.read("file.bin.part").prefix(400_000))
        try harness.directory.write(kept, to: "file.bin.part")
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, served.file)
        await server.stop()
    }

    @Test("a damaged journal is never believed", arguments: [0, 100, 4095])
    func damagedJournal(_ offset: Int) async throws {
        let harness = try Harness()
        let served = Served(ServedFile(length: fileLength))
        let server = try await serve(served)
        try await harness.leavePartial(served, server.text("file.bin"))
        var journal = try harness.directory.read("file.bin.part.journal")
        for index in offset..<min(offset + 64, journal.count) { journal[index] ^= 0xFF }
        try harness.directory.write(journal, to: "file.bin.part.journal")
        let outcome = try await harness.fetch(server.text("file.bin"))
        #expect(outcome.completion != nil, "\(outcome.story)")
        let name = harness.directory.contains("file.bin") ? "file.bin" : "file.1.bin"
        harness.expectWhole(outcome, served.file, name: name, alone: false)
        await server.stop()
    }
}

// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Testing

import TransferCore

@testable import CommandLineTool

@Suite("martlet demo") struct DemoTests {
    private static let a = String(repeating: "a", count: 64)
    private static let b = String(repeating: "b", count: 64)
    private static let size: Int64 = 48 << 20
    private static let received: Int64 = 20 << 20

    private static func request(_ status: Int, _ bytes: Int64?, path: String = "/large.bin") -> DemoRequest {
        DemoRequest(path: path, status: status, bytes: bytes)
    }

    // MARK: Judgements

    /// A changed observation of a resumed download, and the mismatch that it leads to.
    private static let resumptions: [(change: @Sendable (inout DemoResumption) -> Void, seen: String?)] = [
        ({ _ in }, nil),
        ({ $0.end = .exited(2) }, "exit status 2"),
        ({ $0.end = .signalled(11) }, "signal 11"),
        ({ $0.requests = [Self.request(200, Self.size)] }, "no response 206"),
        ({ $0.requests = [Self.request(206, nil)] }, "a response 206 without its size"),
        ({ $0.requests = [Self.request(206, nil), Self.request(206, 28 << 20)] }, nil),
        ({ $0.requests = [Self.request(206, Self.size)] }, "none kept"),
        // One MiB is sent twice at most.
        ({ $0.requests = [Self.request(206, 29 << 20)] }, nil),
        ({ $0.requests = [Self.request(206, 29 << 20 + 1)] }, "51380225 bytes for a file of 50331648"),
        ({ $0.downloaded = Self.b }, "bbbbbbbbbbbbbbbb"),
        ({ $0.downloaded = nil }, "none"),
        // Without /proc only the result is judged.
        (
            {
                $0.isBootKnown = false
                $0.requests = [Self.request(200, Self.size)]
            }, nil
        ),
        (
            {
                $0.isBootKnown = false
                $0.downloaded = Self.b
            }, "bbbbbbbbbbbbbbbb"
        ),
    ]

    @Test(arguments: Self.resumptions.indices)
    func aResumedDownloadIsJudgedByItsObservations(_ index: Int) {
        let (change, seen) = Self.resumptions[index]
        var resumption = DemoResumption(
            size: Self.size,
            received: Self.received,
            end: .exited(0),
            requests: [Self.request(206, Self.size - Self.received)],
            served: Self.a,
            downloaded: Self.a
        )
        change(&resumption)
        #expect(resumption.verdict.failure?.seen == seen)
    }

    @Test func aResumedDownloadShowsTheKeptAndTheSentBytes() {
        let resumption = DemoResumption(
            size: Self.size,
            received: Self.received,
            end: .exited(0),
            requests: [Self.request(206, 28 << 20)],
            served: Self.a,
            downloaded: Self.a
        )
        #expect(
            resumption.verdict.lines == [
                "kept      20.0 MiB of the 20.0 MiB received before the kill",
                "sent      28.0 MiB after it; both runs: 1.00 times the size",
                "sha256    served aaaaaaaaaaaaaaaa, downloaded aaaaaaaaaaaaaaaa",
            ]
        )
        #expect(!resumption.isUnmeasured)
    }

    @Test func anUnmeasuredResponseIsObservedAgain() {
        var resumption = DemoResumption(
            size: Self.size,
            received: Self.received,
            end: .exited(0),
            requests: [Self.request(206, nil)],
            served: Self.a,
            downloaded: Self.a
        )
        #expect(resumption.isUnmeasured)
        resumption.requests = [Self.request(200, nil)]
        #expect(!resumption.isUnmeasured, "a restart is a mismatch")
    }

    /// A changed observation of a replaced file, and the mismatch that it leads to.
    private static let replacements: [(change: @Sendable (inout DemoReplacement) -> Void, seen: String?)] = [
        ({ _ in }, nil),
        ({ $0.end = .exited(8) }, "exit status 8"),
        ({ $0.received = 0 }, "no partial file"),
        (
            {
                $0.second = Self.a
                $0.downloaded = Self.a
            }, "the same version twice"
        ),
        ({ $0.downloaded = Self.a }, "the first version"),
        ({ $0.downloaded = "cc" }, "cc, a mixture of both or another file"),
        ({ $0.downloaded = nil }, "none, a mixture of both or another file"),
    ]

    @Test(arguments: Self.replacements.indices)
    func aReplacedFileIsJudgedByItsDigests(_ index: Int) {
        let (change, seen) = Self.replacements[index]
        var replacement = DemoReplacement(
            received: Self.received,
            end: .exited(0),
            first: Self.a,
            second: Self.b,
            downloaded: Self.b
        )
        change(&replacement)
        #expect(replacement.verdict.failure?.seen == seen)
        #expect(replacement.verdict.lines.first == "served first  aaaaaaaaaaaaaaaa")
    }

    /// A changed observation of a list, and the mismatch that it leads to.
    private static let listings: [(change: @Sendable (inout DemoListing) -> Void, seen: String?)] = [
        ({ _ in }, nil),
        ({ $0.end = .exited(7) }, "exit status 7"),
        (
            {
                $0.entries[0].received = 0
                $0.entries[1].received = 0
            }, "none"
        ),
        ({ $0.entries[1].downloaded = nil }, "none"),
        ({ $0.requests[1] = Self.request(200, 4 << 20, path: "/two") }, "a restart"),
        ({ $0.requests[1].bytes = 4 << 20 }, "none kept of one"),
        ({ $0.requests[1].bytes = nil }, nil),
        // An uninterrupted file was complete, or starts later.
        (
            {
                $0.entries[1].received = 0
                $0.requests[1] = Self.request(200, 4 << 20, path: "/two")
            }, nil
        ),
        (
            {
                $0.isBootKnown = false
                $0.requests = []
            }, nil
        ),
    ]

    @Test(arguments: Self.listings.indices)
    func aListIsJudgedByEachOfItsFiles(_ index: Int) {
        let (change, seen) = Self.listings[index]
        var listing = DemoListing(
            entries: ["one", "two"]
                .map { DemoListing.Entry(name: $0, size: 4 << 20, received: 1 << 20, served: $0, downloaded: $0) },
            end: .exited(0),
            requests: ["/one", "/two"].map { Self.request(206, 3 << 20, path: $0) }
        )
        change(&listing)
        #expect(listing.verdict.failure?.seen == seen)
    }

    @Test func ratiosAreRoundedUp() {
        #expect(DemoText.ratio(100, to: 100) == "1.00")
        #expect(DemoText.ratio(101, to: 1000) == "0.11")
        #expect(DemoText.ratio(100_001, to: 100_000) == "1.01")
        #expect(DemoText.ratio(1, to: 0) == "-")
    }

    // MARK: The log and the texts

    @Test func anUnexpectedEndIsExplained() {
        func text(_ end: ChildProcess.End, isProcMounted: Bool = true) -> String {
            DemoText.ended("martlet get", end, reason: "failed: a", isProcMounted: isProcMounted)
        }
        #expect(text(.exited(9)) == "martlet get ended with exit status 9: failed: a")
        #expect(text(.signalled(11)) == "martlet get was ended by signal 11")
        #expect(text(.signalled(4), isProcMounted: false).hasSuffix("mount it"))
    }

    @Test func linesAreWrappedAtSpacesToTheTerminalsWidth() {
        let line = "   kept      19.4 MiB of the 19.4 MiB received before the kill"
        #expect(DemoText.wrapped(line, columns: 80) == [line])
        #expect(DemoText.wrapped(line, columns: .max) == [line])
        let parts = DemoText.wrapped(line, columns: 40)
        #expect(parts == ["   kept      19.4 MiB of the 19.4 MiB", "     received before the kill"])
        // A word that does not fit stays in one piece.
        #expect(DemoText.wrapped("  $ http://127.0.0.1", columns: 12) == ["  $", "    http://127.0.0.1"])
        #expect(DemoText.wrapped("   1234567890", columns: 5) == ["   1234567890"])
        #expect(DemoText.wrapped("", columns: 1) == [""])
        #expect(DemoText.wrapped("    ", columns: 2) == ["    "])
        for columns in 1...80 {
            let words = DemoText.wrapped(line, columns: columns).joined(separator: " ").split(separator: " ")
            #expect(words == line.split(separator: " "))
        }
    }

    @Test func aDirectoryWithoutEnoughSpaceIsReported() throws {
        let plan = DemoPlan()
        #expect(plan.space > 3 * plan.size)
        #expect(DemoPlan(size: .max).space > 0)
        let directory = try DemoDirectory()
        defer { directory.remove() }
        try directory.requireSpace(1)
        let error = #expect(throws: SyntaxError.self) { try directory.requireSpace(.max) }
        #expect(error?.description.contains("set TMPDIR to a directory with more space") == true)
    }

    #if os(Linux)
    @Test func anOutputThatCannotBeWrittenIsReportedUnlessItsReaderEnded() throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        let full = open("/dev/full", O_WRONLY)
        defer { for descriptor in [ends[1], full] { close(descriptor) } }
        let messages = [ends[1], full]
            .map { descriptor in
                let stream = OutputStream(descriptor)
                stream.write("a")
                #expect(stream.isBroken)
                return DemoText.brokenOutput(stream.failure)
            }
        #expect(messages[0] == nil && messages[1]?.hasPrefix("cannot write to standard output: No space") == true)
    }
    #endif

    @Test func aFailureIsExplainedByTheLastMessage() {
        #expect(DemoText.reason(in: "failed: a: no space\n0 finished, 1 failed\n") == "failed: a: no space")
        #expect(DemoText.reason(in: "one\ntwo\n") == "two")
        #expect(DemoText.reason(in: "") == nil)
    }

    @Test func requestsAreReadFromTheCompleteLinesOfTheAccessLog() {
        let log = """
            127.0.0.1 - - [26/Nov/2026:00:35:02 +0000] "GET /large.bin HTTP/1.1" 200 -
            # 3 lines were left out: the log could not be written
            127.0.0.1 - - [26/Nov/2026:00:35:02 +0000] "HEAD /large.bin HTTP/1.1" 200 -
            127.0.0.1 - a_user [26/Nov/2026:00:35:05 +0000] "GET /large.bin HTTP/1.1" 206 19972096
            127.0.0.1 - - [26/Nov/2026:00:35:05 +0000] "GET /large.bin HTTP/1.1" 206 1997
            """
        #expect(DemoRequest.parse(log) == [Self.request(200, nil), Self.request(206, 19_972_096)])
        #expect(DemoRequest.parse("").isEmpty)
    }

    @Test func theServersAddressIsReadFromACompleteLine() {
        #expect(DemoScript.address(in: "serving www at http://127.0.0.1:4") == nil)
        let text = "warning\nserving a at http://b at http://127.0.0.1:45499/\n"
        #expect(DemoScript.address(in: "serving www at http://127.0.0.1:45499/\n") == "http://127.0.0.1:45499/")
        #expect(DemoScript.address(in: text)?.hasSuffix("http://127.0.0.1:45499/") == true)
    }

    @Test func allTextsFitAnEightyColumnTerminalInASCII() {
        let command = DemoPlan.get("http://127.0.0.1:65535/large.bin", rate: DemoPlan().rate).joined(separator: " ")
        var lines = DemoScript.steps.map(\.heading) + [DemoScript.title, "   $ martlet " + command]
        lines += [DemoScript.success(after: .seconds(100)), "   " + DemoText.unknownBoot]
        lines += DemoScript.more.split(separator: "\n").map(String.init)
        for line in lines { #expect(line.utf8.count < 80 && line.utf8.allSatisfy { (0x20..<0x7F).contains($0) }) }
    }

    @Test func sizesAreWrittenAsTheOptionsAcceptThem() throws {
        for (count, text) in [(10 << 20, "10M"), (512 << 10, "512K"), (1000, "1000"), (0, "0")] as [(Int64, String)] {
            #expect(DemoPlan.size(count) == text)
            #expect(try OptionSyntax.size.parsed(text) == count)
        }
        #expect(DemoPlan(size: DemoPlan.smallestSize).listedSize > 256 << 10)
        #expect(DemoPlan.rate(10 << 20, attempt: 2) == 5 << 19)
    }

    @Test func theHiddenOptionsAreChecked() throws {
        #expect(try DemoCommand.plan([]) == DemoPlan())
        #expect(try DemoCommand.plan(["--size", "4M", "--rate", "64K"]).size == 4 << 20)
        #expect(throws: (any Error).self) { try DemoCommand.plan(["--size", "1000"]) }
        #expect(throws: (any Error).self) { try DemoCommand.plan(["--rate", "0"]) }
        #expect(throws: (any Error).self) { try DemoCommand.plan(["--", "/bin/true"]) }
        #expect(throws: (any Error).self) { try DemoCommand.plan(["now"]) }
        #expect(!CommandLineTool.run(["demo", "--help"]).output.contains("--rate"))
    }
}

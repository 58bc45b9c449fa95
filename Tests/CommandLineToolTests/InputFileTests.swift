// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

import Platform

@Suite struct InputFileTests {
    private func read(_ text: String) -> [InputFileParser.Event] {
        var parser = InputFileParser()
        var events: [InputFileParser.Event] = []
        for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
            events += parser.take(.text(Array(line)))
        }
        return events + parser.finish()
    }

    private func entries(_ text: String) -> [InputEntry] {
        self.read(text).compactMap { if case .entry(let entry) = $0 { entry } else { nil } }
    }

    private func faults(_ text: String) -> [InputFault] {
        self.read(text).compactMap { if case .fault(let fault) = $0 { fault } else { nil } }
    }

    @Test func mirrorsAreSeparatedByTabsAndOptionsAreIndented() throws {
        let entries = self.entries(
            """
            # a comment
            http://a/1\thttp://b/1\t

              out=sub/one.bin
            \tdir=/data
              checksum=sha-1=00112233445566778899aabbccddeeff00112233
              header=X-A: 1
              header=X-B: 2
              # not known, so: an option without '='?
            http://a/2
            """
            .replacing("  # not known, so: an option without '='?\n", with: "  referer=http://r/\n  user-agent=u\n")
        )
        #expect(entries.count == 2)
        #expect(entries[0].line == 2)
        #expect(entries[0].urls.map(\.description) == ["http://a/1", "http://b/1"])
        #expect(entries[0].name == "sub/one.bin" && entries[0].directory == "/data")
        #expect(entries[0].expected.first?.algorithm == .sha1)
        #expect(
            entries[0].fields.map { "\($0.name)=\($0.value)" } == [
                "X-A=1", "X-B=2", "Referer=http://r/", "User-Agent=u",
            ]
        )
        #expect(entries[1].urls.map(\.description) == ["http://a/2"])
    }

    @Test(arguments: [
        ("example.org/x", 1, "http://example.org/x"),
        ("http://a/1\n  out=../../etc/passwd", 2, "outside the directory"),
        ("http://a/1\n  out=/etc/passwd", 2, "outside the directory"),
        ("http://a/1\n  header=X: a\u{1}b", 2, "control character"),
        ("http://a/1\n  header=nocolon", 2, "Name: value"),
        ("http://a/1\n  checksum=md5=12", 2, "32 hexadecimal digits"),
        ("http://a/1\n  nonsense", 2, "name=value"),
        ("  out=x", 1, "the first URL"),
        ("http://a/\u{7}bell", 1, "control character"),
        ("http://a/1\tmailto:x", 1, "http"),
    ])
    func aBadLineSpoilsItsOwnEntryOnly(text: String, line: Int, mend: String) {
        let text = text + "\nhttp://a/good\n  out=good"
        let faults = self.faults(text)
        #expect(faults.count == 1)
        #expect(faults.first?.line == line)
        #expect(faults.first?.message.contains(mend) == true, "\(faults)")
        #expect(self.entries(text).map(\.name) == ["good"])
    }

    private func read(_ text: String, for reader: InputReader) -> [InputFileParser.Event] {
        var parser = InputFileParser(for: reader)
        var events: [InputFileParser.Event] = []
        for line in text.utf8.split(separator: 0x0A) { events += parser.take(.text(Array(line))) }
        return events + parser.finish()
    }

    @Test("an entry of a saved session keeps the options that the daemon has")
    func optionsForTheDaemon() throws {
        let events = self.read(
            """
            http://a/1
             gid=00000000000000ab
             pause=true
             split=3
             max-download-limit=1M
             load-cookies=c.txt
             http-proxy=http://p:1
             file-allocation=none
             max-concurrent-downloads=9
             bogus=1
            """,
            for: .add
        )
        #expect(
            events.dropLast() == [
                .warning(
                    line: 9,
                    "the option \"max-concurrent-downloads\" is ignored: it is for all files; give it on the command line"
                ),
                .warning(line: 10, "the option \"bogus\" is unknown and is ignored"),
            ]
        )
        guard case .entry(let entry) = try #require(events.last) else {
            Issue.record("\(events)")
            return
        }
        var shared = TransferOptions()
        shared[.split] = "9"
        let transfer = AddPlan(options: shared).transfer(entry)
        #expect(transfer.id?.description == "00000000000000ab" && transfer.isPaused)
        #expect(transfer.options[.split] == "3" && transfer.options[.maxDownloadLimit] == "1048576")
        #expect(transfer.options[.httpProxy] == "http://p:1" && transfer.options[.loadCookies]?.hasPrefix("/") == true)
        #expect(transfer.options[.gid] == nil && transfer.options[.pause] == nil)
    }

    @Test("martlet get names the options that have no meaning for it, and refuses those that it would have to obey")
    func optionsForGet() throws {
        let events = self.read(
            "http://a/1\n pause=true\n gid=00000000000000ab\n split=2\n continue=true\nhttp://b/\n pause=true",
            for: .get
        )
        let warnings = events.compactMap { if case .warning(_, let text) = $0 { text } else { nil } }
        #expect(warnings.count == 2 && warnings[0].contains("\"pause\" is ignored: martlet get fetches all files"))
        #expect(warnings[1].contains("\"gid\" is ignored"))
        #expect(events.count { if case .entry = $0 { true } else { false } } == 2)
        for (line, reason) in [
            ("http-proxy=http://p:1", "set the proxy for all files"),
            ("denied-addresses=private", "--deny-private-addresses"),
            ("parameterized-uri=true", "add each URI separately"), ("conditional-get=true", "martlet add"),
            ("split=0", "a whole number from 1 to 256"), ("http-passwd=a\u{1}b", "control character"),
            ("max-download-limit=fast", "\"fast\" is not a valid value; write a number of bytes"),
        ] {
            let fault = self.read("http://a/1\n \(line)", for: .get)
                .compactMap { if case .fault(let it) = $0 { it } else { nil } }
            #expect(fault.count == 1 && fault[0].message.contains(reason), "\(line): \(fault)")
        }
    }

    @Test("the options of an entry change its own request only")
    func requestOfAnEntry() throws {
        let events = self.read(
            "http://a/1\n split=2\n max-download-limit=2K\n max-tries=2\n if-exists=fail\n name-from=last",
            for: .get
        )
        guard case .entry(let entry) = try #require(events.last) else {
            Issue.record("\(events)")
            return
        }
        var options = DownloadOptions()
        options.ifExists = .skip
        options.keepBad = true
        options.addresses = AddressRule(refusing: .private)
        var request = DownloadRequest(entry.urls, options: options)
        try entry.apply(to: &request, CookieFiles())
        #expect(request.options.connections == .fixed(2) && request.options.rateLimit == 2048)
        #expect(request.options.retries == 1 && request.options.ifExists == .fail && request.namesByFinalURL)
        // What the command line protects stays so.
        #expect(request.options.addresses?.refused == .private && request.options.keepBad && !request.options.durable)
        #expect(options.ifExists == .skip)
    }

    @Test("only aria2c leaves out mirrors that cannot be fetched")
    func mirrorsOfOtherProtocols() {
        let line = "ftp://f/x\thttp://a/x"
        #expect(self.read(line, for: .get).count { if case .fault = $0 { true } else { false } } == 1)
        let events = self.read(line, for: .aria2c)
        #expect(events.count == 2)
        #expect(self.read("ftp://f/x", for: .aria2cDaemon).count { if case .fault = $0 { true } else { false } } == 1)
    }

    @Test(
        "a URL is percent-encoded as by aria2 if it needs to be",
        arguments: [
            ("http://h/a b", "http://h/a%20b"), ("http://h/a%20b", "http://h/a%20b"),
        ]
    )
    func encoded(text: String, url: String) {
        #expect(MirrorURLs([text]).urls.map(\.text) == [url])
    }

    @Test func bytesThatAreNotUTF8AreAFaultOfTheirLine() {
        var parser = InputFileParser()
        #expect(parser.take(.text(Array("http://a/".utf8) + [0xFF])).isEmpty)
        #expect(parser.take(.text(Array("  out=x".utf8))).isEmpty)
        guard case .fault(let fault)? = parser.finish().first else {
            Issue.record("no fault")
            return
        }
        #expect(fault.line == 1 && fault.message.contains("UTF-8"))
    }

    @Test func anUnknownOptionIsToldOnce() {
        let events = self.read("http://a/1\n  bogus=5\nhttp://a/2\n  bogus=5\n  gid=1")
        let warnings = events.compactMap { if case .warning(let line, _) = $0 { line } else { nil } }
        #expect(warnings == [2, 5])
        #expect(events.count == 4)
    }

    @Test func theOptionsOfOneEntryAreBounded() {
        let header = "  header=X: " + String(repeating: "y", count: 1000)
        let text = "http://a/1\n" + Array(repeating: header, count: 400).joined(separator: "\n")
        #expect(self.faults(text).first?.message.contains("options are longer") == true)
    }

    @Test func aByteOrderMarkAndReturnsAreTakenOff() throws {
        #expect(self.entries("\u{FEFF}http://a/1").count == 1)
        #expect(try self.lines("http://a/1\r\nb\r", capacity: 16) == [.text(Array("http://a/1".utf8)), .text([0x62])])
    }

    @Test func aLineLongerThanTheBufferIsPassedOverWhole() throws {
        let long = String(repeating: "x", count: 100)
        #expect(
            try self.lines("a\n\(long)\nb\n\(long)", capacity: 16) == [
                .text([0x61]), .tooLong, .text([0x62]), .tooLong,
            ]
        )
        var parser = InputFileParser()
        _ = parser.take(.text(Array("http://a/1".utf8)))
        #expect(parser.take(.tooLong).count == 1)
        #expect(parser.finish().count == 1)
    }

    @Test func linesComeWholeWhateverTheReadsAre() throws {
        let lines = (0..<200).map { String(repeating: "l", count: $0 % 15) }
        let read = try self.lines(lines.joined(separator: "\n") + "\n", capacity: 16)
        #expect(read == lines.map { .text(Array($0.utf8)) })
    }

    /// Reads a text through a pipe.
    private func lines(_ text: String, capacity: Int) throws -> [LineReader.Line] {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let bytes = Array(text.utf8)
        #expect(write(ends[1], bytes, bytes.count) == bytes.count)
        close(ends[1])
        var reader = LineReader(descriptor: ends[0], closes: true, capacity: capacity)
        var lines: [LineReader.Line] = []
        while let line = try reader.next() { lines.append(line) }
        return lines
    }
}

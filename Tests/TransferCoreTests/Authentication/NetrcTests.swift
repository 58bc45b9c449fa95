// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Netrc files") struct NetrcTests {
    private func entry(_ text: String, _ host: String, user: String? = nil, includingDefault: Bool = false) -> String? {
        Netrc(Array(text.utf8)).entry(for: host, user: user, includingDefault: includingDefault)
            .map { "\($0.login ?? "-"):\($0.password ?? "-")" }
    }

    @Test("A machine's login and password may be in any order, on one line or on several")
    func layout() {
        #expect(self.entry("machine a.example login me password secret", "a.example") == "me:secret")
        let lines = "machine b.example\n\tpassword p\r\n  login l\nmachine a.example login x password y\n"
        #expect(self.entry(lines, "b.example") == "l:p")
        #expect(self.entry(lines, "a.example") == "x:y")
        #expect(self.entry(lines, "c.example") == nil)
        #expect(self.entry("MACHINE a Login me PASSWORD p account z", "a") == "me:p")
    }

    @Test("Hosts are compared as those of URLs")
    func hosts() {
        #expect(self.entry("machine EXAMPLE.org. login a password b", "example.org") == "a:b")
        #expect(self.entry("machine example.org login a password b", "example.org.") == "a:b")
        #expect(self.entry("machine [0:0::1] login a password b", "::1") == "a:b")
        #expect(self.entry("machine bücher.example login a password b", "xn--bcher-kva.example") == "a:b")
        #expect(self.entry("machine b.example login a password b", "a.b.example") == nil)
    }

    @Test("A name that is no host takes the following credentials with it")
    func badHost() {
        let netrc = Netrc(Array("machine a login x password y\nmachine https://b/ login me password secret".utf8))
        #expect(netrc.entry(for: "a", includingDefault: true)?.password == "y")
        #expect(netrc.entry(for: "b", includingDefault: true) == nil)
        #expect(netrc.problems.map(\.line) == [2])
    }

    @Test("The default entry is for every other host, only where it is wanted")
    func defaultEntry() {
        let text = "machine a login x password y\ndefault login anonymous password me@home"
        #expect(self.entry(text, "a", includingDefault: true) == "x:y")
        #expect(self.entry(text, "b", includingDefault: true) == "anonymous:me@home")
        #expect(self.entry(text, "b") == nil)
    }

    @Test("The first entry of a host counts, and with a user name the first one of that user")
    func users() {
        let text = "machine a login x password 1 machine a login y password 2 machine a login x password 3"
        #expect(self.entry(text, "a") == "x:1")
        #expect(self.entry(text, "a", user: "y") == "y:2")
        #expect(self.entry(text, "a", user: "z") == nil)
    }

    @Test("Quoted values have spaces and escapes")
    func quoted() {
        #expect(self.entry(#"machine a login "my name" password "a\"b\\c\td""#, "a") == "my name:a\"b\\c\td")
        #expect(self.entry(#"machine a login x password """#, "a") == "x:")
        let open = Netrc(Array("machine a login x password \"abc\nmachine b login y password z".utf8))
        #expect(open.problems.map(\.line) == [1] && open.entry(for: "b", includingDefault: false)?.login == "y")
    }

    @Test("A # begins a comment in front of a word, but not in a value")
    func comments() {
        let text = "# machine a login n password o\nmachine a # the server\n login x password #1#\n"
        #expect(self.entry(text, "a") == "x:#1#")
    }

    @Test("Macros are skipped up to an empty line")
    func macros() {
        let macro = "macdef init\ncd /\nmachine b login no password no\n\n"
        let text = "machine a login x \(macro)password y\nmachine c login z"
        #expect(self.entry(text, "a") == "x:y")
        #expect(self.entry(text, "b") == nil)
        #expect(self.entry(text, "c") == "z:-")
        #expect(self.entry("machine a login x password y\nmacdef end\nrest", "a") == "x:y")
    }

    @Test("A problem names its line and none of the file's words")
    func problems() {
        let netrc = Netrc(Array("login early\nmachine a login x password my secret words\nmachine".utf8))
        #expect(netrc.problems.map(\.line) == [1, 2, 2, 3])
        for problem in netrc.problems {
            for word in ["early", "secret", "words"] { #expect(!problem.message.contains(word)) }
        }
    }

    @Test("Whatever the bytes are, parsing ends, and the number of problems is bounded")
    func hostile() {
        let long = [UInt8](repeating: 0x78, count: 1 << 20)
        let netrc = Netrc(Array("machine a login ".utf8) + long + Array(" password ".utf8) + long)
        #expect(netrc.entry(for: "a", includingDefault: false)?.login?.utf8.count == 1 << 20)
        #expect(Netrc(Array(repeating: Array("w ".utf8), count: 100_000).flatMap { $0 }).problems.count <= 20)
        #expect(Netrc(Array("\"\\".utf8)).problems.count == 1)
        #expect(Netrc([]).entries.isEmpty && Netrc([0xEF, 0xBB, 0xBF]).problems.isEmpty)
        var random = RandomBytes(seed: 38)
        for _ in 0..<200 {
            let words = ["machine", "default", "login", "password", "macdef", "\"", "\n", "\\", "#", "a", " "]
            let text = (0..<30).map { _ in words[Int(random.next() % UInt64(words.count))] }.joined(separator: " ")
            _ = Netrc(Array(text.utf8))
            _ = Netrc((0..<64).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
    }
}

/// Numbers that are the same in each run.
private struct RandomBytes {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return self.state >> 33
    }
}

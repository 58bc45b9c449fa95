// SPDX-License-Identifier: Apache-2.0
import Files
import Testing
import TransferCore

@testable import CommandLineTool

@Suite("Spellings of curl, wget and aria2")
struct ArgumentPassTests {
    /// The arguments of `martlet get` in our spelling, or the message.
    private func pass(_ line: String, _ command: String = "get") -> String {
        switch ArgumentPass.run(line.split(separator: " ").map(String.init), of: command) {
        case .unchanged: return "unchanged"
        case .words(let words): return words.joined(separator: " ")
        case .problem(let text): return text
        }
    }

    @Test(
        "They are translated",
        arguments: [
            ("-L https://h/a", "https://h/a"),
            ("-fL# https://h/a", "https://h/a"),
            ("-C - https://h/a", "https://h/a"),
            ("-C- https://h/a", "https://h/a"),
            ("-L -o b https://h/a", "-o b https://h/a"),
            ("-LJob https://h/a", "-ob https://h/a"),
            ("-P dir https://h/a", "--directory=dir https://h/a"),
            ("-Pdir https://h/a", "--directory=dir https://h/a"),
            ("-nv https://h/a", "--quiet https://h/a"),
            ("-nc https://h/a", "--if-exists=skip https://h/a"),
            ("--retry 3 https://h/a", "--retries=3 https://h/a"),
            ("--tries=3 https://h/a", "--retries=2 https://h/a"),
            ("--tries 0 https://h/a", "--retries=1000000 https://h/a"),
            ("--max-tries=5 https://h/a", "--retries=4 https://h/a"),
            ("--timeout 9 https://h/a", "--connect-timeout=9 --stall-timeout=9 https://h/a"),
            ("--continue=true https://h/a", "https://h/a"),
            ("--continue https://h/a", "https://h/a"),
            ("--check-certificate=false https://h/a", "--insecure https://h/a"),
            ("--check-certificate=true https://h/a", "https://h/a"),
            ("--http-no-cache https://h/a", "--no-cache https://h/a"),
            ("--http-no-cache=false https://h/a", "https://h/a"),
            ("--no-check-certificate https://h/a", "--insecure https://h/a"),
            ("-x16 -s16 -k1M https://h/a", "-x16 --connections=16 --min-split-size=1M https://h/a"),
            ("--split=8 https://h/a", "--connections=8 https://h/a"),
            ("--spider https://h/a", "--dry-run https://h/a"),
            ("--http-user u --http-passwd p https://h/a", "https://h/a --user=u:p"),
            ("--user=u --password=p https://h/a", "--user=u:p https://h/a"),
            ("--user u --password p https://h/a", "--user u:p https://h/a"),
            (
                "--auto-file-renaming=false --allow-overwrite=true https://h/a",
                "--if-exists=fail --if-exists=overwrite https://h/a"
            ),
            ("--retry-on-http-error=404,500 https://h/a", "--retry-status=404 --retry-status=500 https://h/a"),
            // What follows -- is no option, and neither is a value.
            ("-L -- -c", "-- -c"),
            ("-L -o -", "-o -"),
        ]
    )
    func translated(line: String, expected: String) { #expect(self.pass(line) == expected) }

    @Test(
        "Letters with several meanings are answered with what to write, each reading named",
        arguments: [
            ("-c https://h/a", ["-c: ", "leave it out", "--cookie-jar FILE"]),
            ("-c jar https://h/a", ["-c: ", "--cookie-jar FILE"]),
            ("-O https://h/a", ["leave it out", "-o NAME"]),
            ("-k https://h/a", ["--insecure", "--min-split-size SIZE"]),
            ("-s https://h/a", ["-q", "-x NUMBER"]),
            ("-fsSL https://h/a", ["-s: ", "-S: "]),
            ("-T 3 https://h/a", ["martlet put FILE URL", "--timeout SECONDS"]),
            ("-e x https://h/a", ["--referer"]), ("-b x https://h/a", ["--cookie", "martlet add"]),
            ("-m 3 https://h/a", ["--max-time", "--tries"]), ("-R https://h/a", ["leave it out"]),
            ("-r https://h/a", ["range", "sites"]), ("-n https://h/a", ["--netrc"]),
            ("--no-clobber https://h/a", ["--if-exists skip", "--if-exists rename"]),
            ("--recursive https://h/a", ["no pages' links"]),
            ("-C 100 https://h/a", ["\"100\" is an offset"]),
            ("--continue=false https://h/a", ["always"]),
            ("--continue=maybe https://h/a", ["true or false"]),
            ("--http-passwd=x https://h/a", ["needs a user"]),
            ("--silent=yes https://h/a", ["has no value"]),
            ("--retry", ["--retry needs a value"]),
        ]
    )
    func answered(line: String, parts: [String]) {
        let text = self.pass(line)
        for part in parts { #expect(text.contains(part), "\(text)") }
    }

    @Test(
        "Options that no program has are found before values are judged, with the nearest name",
        arguments: [
            ("--stall-timeot 3 https://h/a", "Unknown option '--stall-timeot'; did you mean --stall-timeout?"),
            ("--jobs x --foo https://h/a", "Unknown option '--foo'"),
            ("--retrys 3 https://h/a", "Unknown option '--retrys'; did you mean --retry?"),
            ("-qQ https://h/a", "-Q"), ("-@ https://h/a", "Unknown option '-@'"),
            ("--\u{1B}[31m https://h/a", "Unknown option '--\u{FFFD}[31m'"),
        ]
    )
    func unknown(line: String, expected: String) {
        let text = self.pass(line)
        #expect(text.contains(expected), "\(text)")
        let (status, _, errors) = CommandLineTool.run(["get"] + line.split(separator: " ").map(String.init))
        #expect(status == 28 && errors.contains(expected), "\(errors)")
    }

    @Test(
        "An option of ours that has another meaning there is explained when the arguments are wrong",
        arguments: [
            (["--digest", "https://h/a"], "curl's --digest"), (["--no-proxy", "https://h/a"], "--proxy none"),
            (["--mirror", "https://h/a"], "wget's --mirror"), (["-x", "http://p:1", "https://h/a"], "--proxy URL"),
            (["--json", "{}", "https://h/a"], "curl's --json"),
        ]
    )
    func ours(arguments: [String], part: String) {
        let (status, _, errors) = CommandLineTool.run(["get"] + arguments)
        #expect(status == 28 && errors.contains(part), "\(errors)")
    }

    @Test("A problem of our own options is left to the parser")
    func unchanged() {
        #expect(self.pass("--jobs x https://h/a") == "unchanged")
        #expect(self.pass("--help --foo") == "unchanged")
    }

    @Test("Every translation is to options that a command has")
    func targets() {
        let known = ["get", "put", "add"].map { ArgumentPass.options(of: $0) }
        for option in ForeignOption.all {
            let target: String
            switch option.meaning {
            case .option(let name): target = name
            case .user: target = "--user"
            case .words, .usual, .password, .answer: continue
            }
            let hasValue = known.compactMap { $0[target] }
            #expect(!hasValue.isEmpty, "\(option.spellings) is \(target), which no command has")
            #expect(hasValue.allSatisfy { $0 == (option.arity == .value) }, "\(option.spellings): \(target)")
        }
        // A spelling has one entry, and none hides an option of get.
        let spellings = ForeignOption.all.flatMap(\.spellings)
        #expect(Set(spellings).count == spellings.count)
        for spelling in spellings { #expect(known[0][spelling] == nil, "\(spelling)") }
    }

    @Test("The published table is that of the source")
    func published() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let bytes = try #require(try AtomicFile.read("\(root)/Docs/Spellings.md", atMost: 1 << 20))
        let page = String(decoding: bytes, as: UTF8.self)
        #expect(page == SpellingsPage.text, "martlet generate-manual --spellings > Docs/Spellings.md")
    }

    @Test(
        "A bare host is https, never http",
        arguments: [
            ("example.org", "https://example.org/"), ("example.org/a?b", "https://example.org/a?b"),
            ("localhost:8080/x", "https://localhost:8080/x"), ("[::1]/x", "https://[::1]/x"),
            ("192.0.2.1:81", "https://192.0.2.1:81/"),
        ]
    )
    func bareHosts(text: String, url: String) throws {
        #expect(try BareHost.url(text) { _ in false }.text == url)
    }

    @Test(
        "What is no host is refused, and a file is named with -i",
        arguments: ["3", "a", "u:p", "../x", ".x.y", "a..b"]
    )
    func noHosts(text: String) {
        #expect(throws: SyntaxError.self) { try BareHost.url(text) { _ in false } }
    }

    @Test("A file of that name is not fetched") func files() {
        for text in ["urls.txt", "urls"] {
            let error = #expect(throws: SyntaxError.self) { try BareHost.url(text) { $0 == text } }
            #expect(error?.description.contains("-i \(text)") == true)
        }
    }
}

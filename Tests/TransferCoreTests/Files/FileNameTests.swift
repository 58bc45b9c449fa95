// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite struct FileNameTests {
    @Test(arguments: [
        ("a.txt", "a.txt"), ("../../etc/passwd", "passwd"), ("..\\..\\boot.ini", "boot.ini"), (".bashrc", "bashrc"),
        ("/abs/x", "x"), ("a/b\\c", "c"), ("a\u{0}b\r\nc\u{7F}\u{85}", "abc"),
        ("invoice\u{202E}fdp.exe", "invoicefdp.exe"),
        ("\u{200F}\u{2066}\u{200B}\u{FEFF}\u{61C}a", "a"), ("name. . ..", "name"), (" . .x ", "x"), ("CON", "CON"),
        ("e\u{301}.txt", "\u{E9}.txt"), ("\u{E9}", "\u{E9}"), ("a b", "a b"), ("日本語.zip", "日本語.zip"), ("~x", "~x"),
        (".\u{200B}.x", "x"), ("-rf", "-rf"), ("a\u{3000}", "a"),
    ])
    func namesFromOutsideBecomeOneSafeComponent(_ raw: String, _ name: String) {
        #expect(FileName.sanitize(raw).map { Array($0.unicodeScalars) } == Array(name.unicodeScalars))
        #expect(FileName.sanitize(name) == name)
    }

    @Test(arguments: [
        ("http://h/a/b.bin?q=1#f", "b.bin"), ("http://h/", "index.html"), ("http://h", "index.html"),
        ("http://h/a/", "index.html"), ("http://h/r%20x%2Fy", "r x%2Fy"), ("http://h/..%2f..%2fetc", "%2F..%2Fetc"),
        ("http://h/%2e%2e", "index.html"), ("http://h/..%5c.x", "x"), ("http://h/%00", "index.html"),
    ])
    func theLastURLNamesAFileAsByAria2(url: String, name: String) throws {
        #expect(FileName.choose(byFinal: try HTTPURL(url)) == name)
    }

    @Test(arguments: ["", ".", "..", "...", "/", "a/", "\\", " ", "\u{0}", "\u{202E}", ". .", "x/.."])
    func whatLeavesNothingIsNoName(_ raw: String) { #expect(FileName.sanitize(raw) == nil) }

    @Test func longNamesKeepTheirExtension() throws {
        let long = String(repeating: "a", count: 300)
        for ending in ["", ".tar.gz", ".pdf", ".tar.gz.asc"] {
            let name = try #require(FileName.sanitize(long + ending))
            #expect(name.utf8.count == FileName.longest && name.hasSuffix(ending))
        }
        let wide = try #require(FileName.sanitize(String(repeating: "日", count: 300) + ".zip"))
        #expect(wide.utf8.count <= FileName.longest && wide.hasSuffix("日.zip"))
        let endless = try #require(FileName.sanitize("x." + long))
        #expect(endless.utf8.count <= FileName.longest)
        let stacked = try #require(FileName.sanitize("e" + String(repeating: "\u{316}", count: 300)))
        #expect(stacked.utf8.count <= FileName.longest && !stacked.isEmpty)
        let dotted = try #require(FileName.sanitize("a" + String(repeating: ". ", count: 300) + ".gz"))
        #expect(dotted == "a.gz")
    }

    @Test(arguments: [
        ("file.tar.gz", "file.1.tar.gz"), ("file", "file.1"), ("a.txt", "a.1.txt"), (".bashrc", ".bashrc.1"),
        ("v1.2.tar.xz.asc", "v1.2.1.tar.xz.asc"), ("db.sql.gz", "db.1.sql.gz"), ("pkg-1.2.gz", "pkg-1.2.1.gz"),
        ("my.document.gz", "my.document.1.gz"), ("a.b c", "a.b c.1"), ("x.", "x..1"), ("x.tar.GZ", "x.1.tar.GZ"),
    ])
    func theNumberStandsBeforeTheExtension(_ name: String, _ numbered: String) {
        #expect(FileName.numbered(name, 1) == numbered)
    }

    @Test func numberedNamesStillFit() {
        let name = String(repeating: "a", count: FileName.longest - 7) + ".tar.gz"
        let numbered = FileName.numbered(name, 12345)
        #expect(numbered.utf8.count == FileName.longest && numbered.hasSuffix("a.12345.tar.gz"))
    }

    @Test func theUserComesFirstThenTheServerThenTheURL() throws {
        let url = try HTTPURL("http://h/dir/%E4%BE%8B.zip?x=y")
        let field = "attachment; filename=\"../served.bin\""
        #expect(FileName.choose(user: "mine", disposition: field, url: url) == "mine")
        #expect(FileName.choose(user: ".dotfile", disposition: field, url: url) == ".dotfile")
        #expect(FileName.choose(user: "a/../b", disposition: field, url: url) == "b")
        #expect(FileName.choose(user: "..", disposition: field, url: url) == "served.bin")
        #expect(FileName.choose(user: nil, disposition: field, url: url) == "served.bin")
        #expect(FileName.choose(user: nil, disposition: "attachment; filename=\"..\"", url: url) == "例.zip")
        #expect(FileName.choose(user: "", disposition: nil, url: url) == "例.zip")
        let bare = try HTTPURL("http://h/")
        #expect(FileName.choose(user: nil, disposition: nil, url: bare) == "download")
        let hostile = try HTTPURL("http://h/..%2f..%2f.ssh%2fauthorized_keys")
        #expect(FileName.choose(user: nil, disposition: nil, url: hostile) == "authorized_keys")
    }

    @Test func noNameEscapesItsRules() {
        var generator = SeededGenerator(seed: 3)
        let alphabet = Array("ab./\\ \u{0}\u{202E}\u{301}\u{E9}日.gz\r\u{1100}\u{1161}".unicodeScalars)
        for _ in 0..<10_000 {
            var raw = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0..<400, using: &generator) {
                raw.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)])
                if Int.random(in: 0..<40, using: &generator) == 0 { break }
            }
            guard let name = FileName.sanitize(String(raw)) else { continue }
            #expect(!name.isEmpty && name.utf8.count <= FileName.longest && name.first != "." && name.last != ".")
            #expect(name.unicodeScalars.allSatisfy { !"/\\\u{0}\u{202E}\r".unicodeScalars.contains($0) })
            #expect(FileName.sanitize(name) == name)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Lists of digests")
struct ChecksumListTests {
    private static let md5 = "d41d8cd98f00b204e9800998ecf8427e"
    private static let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    private static let sha256Base64 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    private static func line(_ text: String) -> ChecksumLine? { ChecksumLine(Array(text.utf8)) }

    private static func list(_ text: String) throws -> ChecksumList {
        try ChecksumList(Array(text.utf8), source: "SHA256SUMS")
    }

    /// A digest of SHA-256 with this first byte.
    private static func digest(_ byte: UInt8) -> String {
        Hexadecimal.encode([byte] + [UInt8](repeating: 0, count: 31))
    }

    private static func first(_ text: String, _ paths: String..., isOnly: Bool = false) throws -> UInt8? {
        try self.list(text).digest(of: paths, isOnly: isOnly).bytes.first
    }

    @Test(
        "the forms of a line",
        arguments: [
            ("\(Self.sha256)  a.iso", "a.iso"), ("\(Self.sha256) *a.iso", "a.iso"), ("\(Self.sha256) a.iso", "a.iso"),
            ("\(Self.sha256.uppercased())\ta b.iso", "a b.iso"), ("\(Self.sha256)  *star", "*star"),
            ("\(Self.sha256)  a.iso\r", "a.iso"), ("\(Self.sha256)", ""), ("\(Self.sha256)  ", ""),
            ("\\\(Self.sha256)  a\\nb\\\\c\\rd", "a\nb\\c\rd"), ("\(Self.sha256)  a\\nb", "a\\nb"),
            ("SHA256 (a.iso) = \(Self.sha256)", "a.iso"), ("SHA256(a.iso)= \(Self.sha256)", "a.iso"),
            ("SHA2-256(a.iso)= \(Self.sha256)", "a.iso"), ("SHA256 (a) = b) = \(Self.sha256)", "a) = b"),
            ("SHA256 (a.iso) = \(Self.sha256Base64)", "a.iso"), ("\\SHA256 (a\\nb) = \(Self.sha256)", "a\nb"),
            ("\(Self.md5)  ./d/../a", "./d/../a"), ("MD5 (é) = \(Self.md5)", "é"),
        ]
    )
    func forms(text: String, name: String) {
        let line = Self.line(text)
        #expect(line?.name == name)
        #expect(line?.algorithm == (text.lowercased().contains(Self.md5) ? .md5 : .sha256))
        #expect(line.map { Hexadecimal.encode($0.digest) } == (line?.algorithm == .md5 ? Self.md5 : Self.sha256))
    }

    @Test(
        "what is no line",
        arguments: [
            "", "# comment", "-----BEGIN PGP SIGNED MESSAGE-----", "Hash: SHA512", "abc  a", "\(Self.sha256)a  name",
            "\(Self.sha256.dropLast())  a", "SHA256 (a) \(Self.sha256)", "SHA256 (a) = \(Self.md5)",
            "BLAKE2b (a) = \(Self.sha256)", "\\\(Self.sha256)  a\\tb", "\\\(Self.sha256)  a\\",
            "(a) = \(Self.sha256)", "SHA256 ) a ( = \(Self.sha256)", "<html>", "\(Self.sha256)  a\u{0}b",
        ]
    )
    func noLine(text: String) { #expect(Self.line(text) == nil) }

    @Test("a name that is not UTF-8 is no name of a file here")
    func invalid() { #expect(ChecksumLine(Array("\(Self.sha256)  ".utf8) + [0xFF]) == nil) }

    @Test("a list needs a line; those of a signature are left out")
    func lists() throws {
        #expect(throws: SyntaxError.self) { try Self.list("<html>not found</html>\n") }
        #expect(throws: SyntaxError.self) { try Self.list("") }
        let signed =
            "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n\(Self.digest(7))  a\n-----BEGIN PGP SIGNATURE-----\nAAAA\n"
        #expect(try Self.first(signed, "a") == 7)
        #expect(try Self.list("\u{FEFF}\(Self.digest(1))  a").count == 1)
    }

    @Test("a file is found by its name, with and without directories")
    func names() throws {
        let text = "\(Self.digest(1))  ./a\n\(Self.digest(2)) *b\n"
        #expect(try Self.first(text, "/pub/a") == 1)
        #expect(try Self.first(text, "b") == 2)
        #expect(throws: SyntaxError("SHA256SUMS has no digest of 'c'")) { try Self.first(text, "c") }
    }

    @Test("of lines with equal names, that counts whose directories agree best with the path")
    func directories() throws {
        let text = "\(Self.digest(1))  ./netboot/mini.iso\n\(Self.digest(2))  ./netboot/gtk/mini.iso\n"
        #expect(try Self.first(text, "/installer/netboot/mini.iso") == 1)
        #expect(try Self.first(text, "/installer/netboot/gtk/mini.iso") == 2)
        #expect(throws: SyntaxError.self) { try Self.first(text, "mini.iso") }
        // One line without directories is better than one with others.
        #expect(try Self.first("\(Self.digest(3))  old/a\n\(Self.digest(4))  a\n", "/x/a") == 4)
    }

    @Test("a name here and a URL that name different digests are an error")
    func conflict() throws {
        let text = "\(Self.digest(1))  a\n\(Self.digest(2))  b\n"
        #expect(throws: SyntaxError.self) { try Self.first(text, "a", "/b") }
        #expect(try Self.first(text, "mine", "/b") == 2)
        #expect(try Self.first(text, "a", "/other") == 1)
    }

    @Test("of several algorithms the strongest counts; the same line twice is no conflict")
    func algorithms() throws {
        let text = "MD5 (a) = \(Self.md5)\nSHA256 (a) = \(Self.digest(5))\nSHA256 (a) = \(Self.digest(5))\n"
        #expect(try Self.list(text).digest(of: ["a"]).algorithm == .sha256)
    }

    @Test("a digest without a name is that of the only file")
    func nameless() throws {
        #expect(try Self.first(Self.digest(9) + "\n", "a", isOnly: true) == 9)
        #expect(throws: SyntaxError.self) { try Self.first(Self.digest(9), "a") }
        #expect(throws: SyntaxError.self) {
            try Self.first("\(Self.digest(1))\n\(Self.digest(2))\n", "a", isOnly: true)
        }
    }

    @Test("any bytes are a list or an error")
    func garbage() {
        var random = WalkRandom(38)
        let alphabet = Array("0123456789abcdef \n\r\\*()=SHA256MD5./\u{FF}".utf8)
        for _ in 0..<500 {
            let text = (0..<Int.random(in: 0...300, using: &random))
                .map { _ in
                    alphabet.randomElement(using: &random) ?? 0
                }
            _ = try? ChecksumList(text, source: "x").digest(of: ["a"])
        }
    }
}

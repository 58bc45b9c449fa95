// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite struct DigestParsingTests {
    /// RFC 9530 appendix B: the SHA-256 of `{"hello": "world"}` and a line feed.
    private let base64 = "RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg="
    private let hexadecimal = "44aff4ab2d7c32505256 75a08f0cfa9591168cffe51791c5f5bbc417c15a6c38"

    private var bytes: [UInt8] { Hexadecimal.decode(self.hexadecimal.utf8.filter { $0 != 0x20 }) ?? [] }

    @Test func structuredFieldsAreRead() {
        let digest = ExpectedDigest(algorithm: .sha256, bytes: self.bytes, source: "F")
        for field in [
            "sha-256=:\(self.base64):", "unixsum=:AA==:, sha-256=:\(self.base64):;a=1",
            "x=\"a,sha-256=:AA==:\\\",\" , sha-256=:\(self.base64):", "md5=short,sha-256=:\(self.base64):",
            "sha-256=:\(Base64.encode([UInt8](repeating: 0, count: 32))):, sha-256=:\(self.base64):",
        ] {
            #expect(DigestFields.parse(field, source: "F") == [digest], "\(field)")
        }
        for field in [
            "", ",", "sha-256", "sha-256=", "sha-256=::", "sha-256=:!:", "=,=", "id-sha-256=\(self.base64)",
            "sha-256=\(self.base64)", "SHA-256=:\(self.base64):", "sha-256=:\(self.base64):, Bad=1",
            "sha-256=:\(self.base64): x", "sha-256=:\(self.base64)", "sha-256= :\(self.base64):",
        ] {
            #expect(DigestFields.parse(field, source: "F").isEmpty, "\(field)")
        }
    }

    @Test func theOlderFieldIsReadByItsOwnGrammar() {
        for field in [
            "SHA-256=\(self.base64)", "unixsum=30637, sha-256=\(self.base64) ", "MD5=x,sha-256=\(self.base64)",
        ] {
            #expect(DigestFields.representation(["Digest": field]).map(\.bytes) == [self.bytes], "\(field)")
        }
        for field in ["", ",", "=", "sha-256", "sha-256=:\(self.base64):"] {
            #expect(DigestFields.representation(["Digest": field]).isEmpty, "\(field)")
        }
    }

    @Test func everyRegisteredAlgorithmIsKnown() {
        let names: [(String, DigestAlgorithm)] = [
            ("md5", .md5), ("sha", .sha1), ("sha-256", .sha256), ("sha-384", .sha384), ("sha-512", .sha512),
        ]
        for (name, algorithm) in names {
            let value = Base64.encode([UInt8](repeating: 7, count: algorithm.byteCount))
            #expect(DigestFields.parse("\(name)=:\(value):", source: "").first?.algorithm == algorithm)
        }
    }

    @Test func theNewerFieldIsPreferred() {
        let old = Base64.encode([UInt8](repeating: 1, count: 32))
        let both: HeaderFields = ["Digest": "sha-256=\(old)", "Repr-Digest": "sha-256=:\(self.base64):"]
        #expect(DigestFields.representation(both).map(\.source) == ["Repr-Digest"])
        #expect(DigestFields.representation(["Digest": "sha-256=\(old)"]).map(\.source) == ["Digest"])
        #expect(DigestFields.content(["Content-Digest": "sha-256=:\(self.base64):"]).map(\.bytes) == [self.bytes])
        #expect(DigestFields.content(both).isEmpty && DigestFields.representation([:]).isEmpty)
    }

    @Test func peopleWriteDigestsInManyWays() throws {
        let hexadecimal = self.hexadecimal.filter { $0 != " " }
        for text in [
            "sha256:\(hexadecimal)", "SHA-256=\(hexadecimal.uppercased())", "sha-256=\(self.base64)",
            "sha256:\(self.base64.dropLast())", "sha-256=:\(self.base64):", " sha256: \(self.hexadecimal)",
        ] {
            let digest = try ExpectedDigest(parsing: text)
            #expect(digest.algorithm == .sha256 && digest.bytes == self.bytes && digest.source == "the digest")
        }
        #expect(try ExpectedDigest(parsing: "md5:d41d8cd98f00b204e9800998ecf8427e").algorithm == .md5)
        #expect(try ExpectedDigest(parsing: "sha-1=da39a3ee5e6b4b0d3255bfef95601890afd80709").algorithm == .sha1)
    }

    @Test(arguments: [
        "", "sha256", "abcd", "crc32:00", "sha256:", "sha256:zz", "md5:\(String(repeating: "g", count: 32))",
        "sha512:d41d8cd98f00b204e9800998ecf8427e", ":::", "=", "sha256::",
    ])
    func malformedDigestsSayWhatIsWanted(_ text: String) throws {
        let error = #expect(throws: SyntaxError.self) { try ExpectedDigest(parsing: text) }
        #expect(error?.message.contains("sha256") == true || error?.message.contains("digits") == true)
    }

    /// RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func base64IsAsInTheStandard(_ plain: String, _ encoded: String) {
        #expect(Base64.encode(plain.utf8) == encoded)
        #expect(Base64.decode(encoded.utf8) == Array(plain.utf8))
        #expect(Base64.decode(encoded.utf8.filter { $0 != 0x3D }) == Array(plain.utf8))
    }

    @Test func codecsRefuseWhatIsNotTheirs() {
        for text in ["A", "A=", "AA=", "AA===", "AAA==", "A=A=", "AA A", "====", "Zm9v=", "é"] {
            #expect(Base64.decode(text.utf8) == nil, "\(text)")
        }
        #expect(Base64.decode("-_-_".utf8) == Base64.decode("+/+/".utf8))
        #expect(Hexadecimal.decode("abc".utf8) == nil && Hexadecimal.decode("zz".utf8) == nil)
        #expect(Hexadecimal.encode([0, 0xAB, 0xFF]) == "00abff")
        let all = (0...255).map { UInt8($0) }
        #expect(
            Base64.decode(Base64.encode(all).utf8) == all && Hexadecimal.decode(Hexadecimal.encode(all).utf8) == all
        )
    }
}

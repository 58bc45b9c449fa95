// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite struct ChallengeTests {
    private func challenge(_ scheme: String, _ parameters: [String: String] = [:]) -> AuthenticationChallenge {
        AuthenticationChallenge(scheme: scheme, parameters: parameters)
    }

    @Test("One field may hold several challenges, and a response several fields (RFC 9110 §11.6.1)")
    func several() {
        let found = AuthenticationChallenge.parse([
            "Basic realm=\"simple\", Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\"",
            "Negotiate, ,,  NTLM abc/d+e==\t, Bearer", "DIGEST  realm = \"a, b=c\" ,nonce= n/==",
        ])
        let expected = [
            self.challenge("Basic", ["realm": "simple"]),
            self.challenge("Newauth", ["realm": "apps", "type": "1", "title": "Login to \"apps\""]),
            self.challenge("Negotiate"), AuthenticationChallenge(scheme: "NTLM", token68: "abc/d+e=="),
            self.challenge("Bearer"), self.challenge("DIGEST", ["realm": "a, b=c", "nonce": "n/=="]),
        ]
        #expect(found == expected)
        #expect(found.last?.scheme == "digest" && found.last?.schemeAsSent == "DIGEST" && found.last?.realm == "a, b=c")
        #expect(found[2].realm == nil)
    }

    @Test("Parameters' names have no case, and of two with one name the first counts")
    func names() {
        #expect(
            AuthenticationChallenge.parse(["Basic REALM=a, realm=b, Charset=\"UTF-8\""])
                == [self.challenge("Basic", ["realm": "a", "charset": "UTF-8"])]
        )
    }

    @Test("What is malformed ends the field, and what stands before it counts")
    func malformed() {
        let cases: [(String, [AuthenticationChallenge])] = [
            ("", []), (" , ,", []), ("=", []), ("\"Basic\"", []), ("realm=\"x\"", []), ("Basic;realm=x", []),
            ("Basic realm=\"x", [self.challenge("Basic")]), ("Basic realm=\"x\\", [self.challenge("Basic")]),
            ("Basic realm=\"x\" Digest realm=\"y\"", [self.challenge("Basic", ["realm": "x"])]),
            ("Basic realm=\"x\"y, Digest", [self.challenge("Basic", ["realm": "x"])]),
            ("Bearer a b, Basic", [self.challenge("Bearer")]), ("Basic =x", [self.challenge("Basic")]),
            ("Basic realm=", [AuthenticationChallenge(scheme: "Basic", token68: "realm=")]),
            ("Basic realm=x\"y\"", [self.challenge("Basic", ["realm": "x"])]),
            ("Basic realm=\"\"", [self.challenge("Basic", ["realm": ""])]),
        ]
        for (field, challenges) in cases {
            #expect(AuthenticationChallenge.parse([field]) == challenges, "\(field)")
            #expect(AuthenticationChallenge.parse([field, "Foo"]) == challenges + [self.challenge("Foo")], "\(field)")
        }
    }

    @Test("The strongest challenge is Digest with SHA-256, then Digest with MD5, then Basic; a token takes Bearer")
    func strongest() throws {
        let digest = ["realm": "r", "nonce": "n"]
        let basic = self.challenge("Basic", ["realm": "r"])
        let md5 = self.challenge("Digest", digest)
        let sha256 = self.challenge("digest", digest.merging(["algorithm": "SHA-256"]) { $1 })
        let other = self.challenge("Digest", digest.merging(["algorithm": "SHA-512-256"]) { $1 })
        let integrity = self.challenge("Digest", digest.merging(["qop": "auth-int"]) { $1 })
        let bearer = self.challenge("Bearer")
        let password = Credential.password(user: "u", password: "p")
        func strongest(_ challenges: [AuthenticationChallenge], _ credential: Credential) -> AuthenticationChallenge? {
            AuthenticationChallenge.strongest(of: challenges, for: credential)
        }
        #expect(strongest([basic, bearer, other, md5, sha256], password) == sha256)
        #expect(strongest([md5, basic], password) == md5)
        #expect(strongest([other, integrity, basic], password) == basic)
        #expect(strongest([other, integrity, bearer], password) == nil)
        #expect(strongest([basic, self.challenge("BASIC")], password) == basic)
        #expect(strongest([basic, sha256, bearer], .bearer("t")) == bearer)
        #expect(strongest([], .bearer("t")) == nil)
    }

    @Test("A protection space is a realm of one origin, of a server or a proxy")
    func spaces() {
        let origin = Origin(scheme: .https, host: "h", port: 443)
        let space = ProtectionSpace(origin: origin, realm: "r")
        #expect(space != ProtectionSpace(origin: origin, realm: "r", isProxy: true))
        #expect(space != ProtectionSpace(origin: origin, realm: nil))
        #expect(space != ProtectionSpace(origin: Origin(scheme: .http, host: "h", port: 443), realm: "r"))
    }

    @Test("No field traps the parser, and no challenge traps what answers it", arguments: 0..<4 as Range<UInt64>)
    func hostile(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "Basic", "Digest", " ", "\t", ",", "=", "\"", "\\", "realm", "nonce", "qop", "auth", "algorithm",
            "MD5-sess",
            "SHA-256", "é", "\u{FFFD}", "abc==", "/", "\0", "\n", "userhash=true", "charset=UTF-8", "opaque",
            "Digest realm=\"x\", nonce=\"", "\", ", "stale", ";",
        ]
        for _ in 0..<3000 {
            var field = ""
            for _ in 0..<Int.random(in: 0...15, using: &generator) {
                field += pieces.randomElement(using: &generator) ?? ""
            }
            for challenge in AuthenticationChallenge.parse([field, field]) {
                #expect(!challenge.scheme.isEmpty)
                guard var digest = DigestAuthentication(challenge, hash: { _, bytes in Array(bytes.prefix(2)) }) else {
                    continue
                }
                let value = digest.authorization(
                    user: field,
                    password: field,
                    method: "GET",
                    requestTarget: "/",
                    clientNonce: "c"
                )
                #expect(value?.utf8.contains { $0 < 0x20 } != true)
            }
            _ = BasicAuthentication.authorization(user: field, password: field)
            _ = BearerAuthentication.authorization(token: field)
        }
    }
}

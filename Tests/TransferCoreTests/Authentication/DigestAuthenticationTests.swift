// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite struct DigestAuthenticationTests {
    /// The example of RFC 7616 §3.9.1, whose field offers SHA-256 and MD5.
    private static let fields = [
        """
        Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, \
        nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """,
        """
        Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=MD5, \
        nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """,
    ]
    private static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

    private func digest(_ field: String) -> DigestAuthentication? {
        AuthenticationChallenge.parse([field]).first.flatMap { DigestAuthentication($0, hash: PlainDigests.hash) }
    }

    /// The parameters of the answer to `GET target`.
    private func answer(
        _ digest: inout DigestAuthentication,
        user: String = "Mufasa",
        password: String = "Circle of Life",
        target: String = "/dir/index.html",
        clientNonce: String = Self.clientNonce
    ) throws -> [String: String] {
        let field = digest.authorization(
            user: user,
            password: password,
            method: "GET",
            requestTarget: target,
            clientNonce: clientNonce
        )
        let challenges = AuthenticationChallenge.parse([try #require(field)])
        #expect(challenges.count == 1 && challenges.first?.schemeAsSent == "Digest")
        return try #require(challenges.first).parameters
    }

    @Test("The tests' own digests are those of the standards")
    func digests() {
        #expect(Hexadecimal.encode(PlainDigests.md5([])) == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(Hexadecimal.encode(PlainDigests.md5(Array("abc".utf8))) == "900150983cd24fb0d6963f7d28e17f72")
        #expect(
            Hexadecimal.encode(PlainDigests.sha256(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
    }

    @Test("The answers are those of RFC 7616 §3.9.1")
    func example() throws {
        let challenges = AuthenticationChallenge.parse(Self.fields)
        let strongest = AuthenticationChallenge.strongest(of: challenges, for: .password(user: "", password: ""))
        #expect(strongest == challenges.first)
        var sha256 = try #require(self.digest(Self.fields[0]))
        let answer = sha256.authorization(
            user: "Mufasa",
            password: "Circle of Life",
            method: "GET",
            requestTarget: "/dir/index.html",
            clientNonce: Self.clientNonce
        )
        let expected = """
            Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", algorithm=SHA-256, \
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001, \
            cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth, \
            response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1", \
            opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
            """
        #expect(answer == expected)
        var md5 = try #require(self.digest(Self.fields[1]))
        #expect(try self.answer(&md5)["response"] == "8ca523f5e9506fed4657c9700eebdbec")
    }

    @Test("The response is that of RFC 2617 §3.5, in which no algorithm means MD5")
    func olderExample() throws {
        var digest = try #require(
            self.digest(
                """
                Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
                opaque="5ccc069c403ebaf9f0171e9517f40e41"
                """
            )
        )
        #expect(digest.algorithm == .md5 && digest.realm == "testrealm@host.com" && !digest.isStale)
        #expect(digest.nonce == "dcd98b7102dd2f0e8b11d0f600bfb0c093")
        #expect(digest.opaque == "5ccc069c403ebaf9f0171e9517f40e41")
        let answer = try self.answer(&digest, password: "Circle Of Life", clientNonce: "0a4f113b")
        #expect(answer["response"] == "6629fae49393a05397450978507c4ef1" && answer["algorithm"] == nil)
    }

    @Test("Without qop the answer is that of RFC 2069, and has no client nonce")
    func oldest() throws {
        var digest = try #require(
            self.digest("Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"")
        )
        let answer = try self.answer(&digest, password: "CircleOfLife")
        #expect(answer["response"] == "1949323746fe6a43ef61f9606e7febea")
        #expect(Set(answer.keys) == ["username", "realm", "uri", "nonce", "response"])
    }

    @Test("The count of the nonce has eight digits and rises with every answer")
    func counting() throws {
        var digest = try #require(self.digest(Self.fields[1]))
        var responses: Set<String> = []
        for count in 1...20 {
            let answer = try self.answer(&digest)
            #expect(answer["nc"] == "000000" + (count < 16 ? "0" : "") + String(count, radix: 16))
            responses.insert(answer["response"] ?? "")
        }
        #expect(responses.count == 20 && digest.nonceCount == 20)
    }

    @Test("A session's key is made once, and its client nonce is kept")
    func sessions() throws {
        var digest = try #require(self.digest("Digest realm=r, nonce=n, qop=auth, algorithm=sha-256-SESS"))
        let first = try self.answer(&digest, user: "u", password: "p", target: "/", clientNonce: "c1")
        #expect(first["response"] == "42a52d9aa646e6836eb28004e3e4b90d3c3f454b83aabbcb9d72d50867ae5da5")
        #expect(first["algorithm"] == "sha-256-SESS")
        let second = try self.answer(&digest, user: "u", password: "p", target: "/", clientNonce: "c2")
        #expect(second["response"] == "db4c4a1c6aa2ea97dbe17309f30db6509135f567d33101282bbe7d3076bd76ee")
        #expect(second["cnonce"] == "c1" && second["nc"] == "00000002")
        #expect(self.digest("Digest realm=r, nonce=n, qop=auth, algorithm=MD5-sess")?.algorithm == .md5Session)
        #expect(self.digest("Digest realm=r, nonce=n, algorithm=MD5-sess") == nil)
    }

    @Test("A user's name is hashed where the server wants that (RFC 7616 §3.4.4)")
    func hashedNames() throws {
        var digest = try #require(self.digest(Self.fields[0] + ", userhash=true"))
        let answer = try self.answer(&digest)
        #expect(answer["username"] == "a947aad205e80e429958a387394944c6b496301e79f89d35a4cc23b6ee12b5b6")
        #expect(answer["userhash"] == "true")
        // The answer itself is made with the name as it is.
        #expect(answer["response"] == "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1")
    }

    @Test("A name that is not ASCII is percent-encoded where the server knows UTF-8, and normalised")
    func unicodeNames() throws {
        let field = "Digest realm=\"api@example.org\", nonce=n, qop=auth, algorithm=SHA-256"
        for user in ["J\u{E4}s\u{F8}n Doe", "Ja\u{308}s\u{F8}n Doe"] {
            var digest = try #require(self.digest(field + ", charset=utf-8"))
            let answer = try self.answer(
                &digest,
                user: user,
                password: "Secret, or not?",
                target: "/doe.json",
                clientNonce: "c"
            )
            #expect(answer["username*"] == "UTF-8''J%C3%A4s%C3%B8n%20Doe" && answer["username"] == nil)
            #expect(answer["response"] == "88b474a94539022f3d252e339dd723eed819edef92d20c67b54aa593902a37c0")
        }
        var digest = try #require(self.digest(field))
        #expect(try self.answer(&digest, user: "J\u{E4}n")["username"] == "J\u{E4}n")
    }

    @Test("Quotes and backslashes are escaped where they are sent and plain where they are hashed")
    func escapes() throws {
        var digest = try #require(self.digest("Digest realm=\"r\\\"q\", nonce=n, qop=auth"))
        let value = digest.authorization(
            user: "a\"b\\c",
            password: "p",
            method: "GET",
            requestTarget: "/",
            clientNonce: "c"
        )
        let field = try #require(value)
        #expect(field.hasPrefix("Digest username=\"a\\\"b\\\\c\", realm=\"r\\\"q\", uri=\"/\""))
        #expect(field.contains("response=\"89e54cc77fe8ff62746c976d38600851\""))
    }

    @Test("What would break the line is not answered")
    func injection() throws {
        var digest = try #require(self.digest("Digest realm=r, nonce=n, qop=auth"))
        for text in ["a\r\nX: y", "\0", "a\u{7F}"] {
            let values = [
                digest.authorization(user: text, password: "p", method: "GET", requestTarget: "/", clientNonce: "c"),
                digest.authorization(user: "u", password: "p", method: text, requestTarget: "/", clientNonce: "c"),
                digest.authorization(user: "u", password: "p", method: "GET", requestTarget: text, clientNonce: "c"),
                digest.authorization(user: "u", password: "p", method: "GET", requestTarget: "/", clientNonce: text),
            ]
            #expect(values.allSatisfy { $0 == nil })
            for name in ["realm", "nonce", "opaque"] {
                let parameters = ["realm": "r", "nonce": "n"].merging([name: text]) { $1 }
                let challenge = AuthenticationChallenge(scheme: "Digest", parameters: parameters)
                #expect(DigestAuthentication(challenge, hash: PlainDigests.hash) == nil)
            }
        }
        #expect(digest.nonceCount == 0)
    }

    @Test(
        "A challenge that is malformed or not supported is none",
        arguments: [
            "Basic realm=r, nonce=n", "Digest", "Digest realm=r", "Digest nonce=n",
            "Digest realm=r, nonce=n, algorithm=SHA-512-256", "Digest realm=r, nonce=n, algorithm=\"\"",
            "Digest realm=r, nonce=n, qop=auth-int", "Digest realm=r, nonce=n, qop=\"x,y\"",
        ]
    )
    func unsupported(_ field: String) { #expect(self.digest(field) == nil) }

    @Test("An old nonce is distinguished from a wrong password")
    func stale() {
        #expect(self.digest("Digest realm=r, nonce=n, stale=TRUE")?.isStale == true)
        #expect(self.digest("Digest realm=r, nonce=n, stale=false")?.isStale == false)
    }
}

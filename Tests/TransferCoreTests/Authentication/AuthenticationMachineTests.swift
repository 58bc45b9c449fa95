// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite("Credentials of a program's requests") struct AuthenticationMachineTests {
    private let basic = "Basic realm=\"r\""
    private let digest = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""

    private func machine(_ change: (inout CredentialSources) -> Void) -> AuthenticationMachine {
        var sources = CredentialSources()
        sources.sendsAhead = true
        change(&sources)
        return AuthenticationMachine(sources, hash: PlainDigests.hash)
    }

    private func facts(_ url: String, of source: String? = nil, id: UInt64 = 1) throws -> RequestFacts {
        let target = try HTTPURL(url)
        return RequestFacts(
            id: TransferID(id),
            method: "GET",
            url: target,
            source: try source.map { try HTTPURL($0) } ?? target,
            refusals: 0
        )
    }

    private func head(_ fields: String...) -> ResponseHead {
        var head = ResponseHead(status: 401, framing: .none)
        for field in fields { head.fields.append("WWW-Authenticate", field) }
        return head
    }

    private func scheme(_ machine: inout AuthenticationMachine, _ facts: RequestFacts) -> String? {
        machine.authorization(for: facts, clientNonce: { "c" })?.split(separator: " ").first.map(String.init)
    }

    @Test("A password is sent ahead by Basic, to the origin of the first URL only")
    func ahead() throws {
        var machine = self.machine { $0.own = .password(user: "u", password: "p") }
        #expect(machine.authorization(for: try self.facts("http://a/f"), clientNonce: { "" }) == "Basic dTpw")
        #expect(self.scheme(&machine, try self.facts("http://b/f", of: "http://a/f")) == nil)
        #expect(self.scheme(&machine, try self.facts("https://a/f", of: "http://a/f")) == nil)
        #expect(self.scheme(&machine, try self.facts("http://a:81/f", of: "http://a/f")) == nil)
        var mirror = try self.facts("http://m/f")
        mirror.isFirstSource = false
        #expect(self.scheme(&machine, mirror) == nil)
        var returned = try self.facts("http://a/g", of: "http://a/f")
        returned.hasLeftOrigin = true
        #expect(self.scheme(&machine, returned) == nil)
    }

    @Test("A challenge for Digest alone does not refuse a password that was sent by Basic")
    func fromBasicToDigest() throws {
        var machine = self.machine { $0.own = .password(user: "u", password: "p") }
        let facts = try self.facts("http://a/f")
        #expect(self.scheme(&machine, facts) == "Basic")
        #expect(machine.challenged(self.head(self.digest), facts) == .repeat)
        #expect(self.scheme(&machine, facts) == "Digest")
        // The next transfer uses Digest at once.
        #expect(self.scheme(&machine, try self.facts("http://a/g", id: 2)) == "Digest")
        guard case .ask = machine.challenged(self.head(self.digest), facts) else {
            Issue.record("a refused password was tried again")
            return
        }
    }

    @Test("A challenge for Basic refuses it")
    func refused() throws {
        var machine = self.machine { $0.own = .password(user: "u", password: "p") }
        let facts = try self.facts("http://a/f")
        _ = self.scheme(&machine, facts)
        guard case .ask = machine.challenged(self.head(self.basic, self.digest), facts) else {
            Issue.record("a refused password was tried again")
            return
        }
        #expect(self.scheme(&machine, facts) == nil)
    }

    @Test("For Digest only, the password is never sent itself")
    func digestOnly() throws {
        var machine = self.machine {
            $0.own = .password(user: "u", password: "p")
            $0.usesDigestOnly = true
        }
        let facts = try self.facts("http://a/f")
        #expect(self.scheme(&machine, facts) == nil)
        guard case .ask = machine.challenged(self.head(self.basic), facts) else {
            Issue.record("the password was offered by Basic")
            return
        }
        #expect(machine.challenged(self.head(self.basic, self.digest), facts) == .repeat)
        #expect(self.scheme(&machine, facts) == "Digest")
    }

    @Test("A URL's own user name precedes the others, and gets its password from the file")
    func order() throws {
        var machine = self.machine {
            $0.own = .password(user: "o", password: "o")
            $0.netrc = Netrc(Array("machine a login x password 1 machine a login y password 2".utf8))
        }
        let expected: [(String, String)] = [
            ("http://u:p@a/", "u:p"), ("http://y@a/", "y:2"), ("http://z@a/", "z:"), ("http://a/", "o:o"),
        ]
        for (index, (url, pair)) in expected.enumerated() {
            let field = machine.authorization(
                for: try self.facts(url, id: UInt64(index + 1)),
                clientNonce: { "" }
            )
            #expect(field == "Basic " + Base64.encode(Array(pair.utf8)), "\(url)")
        }
    }

    @Test("A netrc entry is for the host that it names: after a redirect to another host, over https only")
    func netrc() throws {
        var machine = self.machine {
            $0.netrc = Netrc(Array("machine login.example login u password p\ndefault login d password d".utf8))
        }
        #expect(self.scheme(&machine, try self.facts("http://login.example/")) == "Basic")
        #expect(self.scheme(&machine, try self.facts("https://login.example/", of: "https://data.example/")) == "Basic")
        #expect(self.scheme(&machine, try self.facts("http://login.example/", of: "http://data.example/")) == nil)
        // The default entry is not for hosts that a server chooses.
        #expect(self.scheme(&machine, try self.facts("https://data.example/")) == "Basic")
        #expect(self.scheme(&machine, try self.facts("https://other.example/", of: "https://data.example/")) == nil)
    }

    @Test("An ended transfer leaves nothing")
    func ended() throws {
        var machine = self.machine { $0.own = .password(user: "u", password: "p") }
        for id in 1...100 {
            let facts = try self.facts("http://a/f", id: UInt64(id))
            _ = self.scheme(&machine, facts)
            _ = machine.challenged(self.head(self.digest), facts)
            _ = self.scheme(&machine, facts)
            machine.ended(facts.id)
        }
        #expect(machine.trialCount == 0)
    }
}

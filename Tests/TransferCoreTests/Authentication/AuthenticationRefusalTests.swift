// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Messages about refused credentials") struct AuthenticationRefusalTests {
    private func failure(_ fields: [String], hasCredentials: Bool) -> TransferFailure {
        var head = ResponseHead(status: 401, framing: .none)
        for field in fields { head.fields.append("WWW-Authenticate", field) }
        return ResponseJudge.failure(head, retrying: [], wallNow: 0, hasCredentials: hasCredentials)
    }

    @Test("They say whether credentials are missing or refused, and which schemes are accepted")
    func missingOrRefused() {
        let fields = ["Basic realm=\"a\"", "Digest realm=\"a\", nonce=\"n\", qop=\"auth\", BASIC realm=\"b\""]
        let missing = self.failure(fields, hasCredentials: false)
        #expect(missing.message.hasSuffix("401 Unauthorized: credentials are required (Basic or Digest)"))
        #expect(missing.setting == .credentials && missing.code == .authentication)
        let refused = self.failure(fields, hasCredentials: true)
        #expect(refused.message.hasSuffix("401 Unauthorized: the credentials were refused (Basic or Digest)"))
        #expect(refused.setting == nil && refused.remedy.contains("check"))
    }

    @Test("If no scheme is supported, they say so, and name no option")
    func unsupported() {
        for hasCredentials in [false, true] {
            let failure = self.failure(["Negotiate", "NTLM"], hasCredentials: hasCredentials)
            #expect(failure.message.contains("it accepts only Negotiate or NTLM, which is not supported"))
            #expect(failure.setting == nil && failure.remedy.isEmpty)
        }
        #expect(self.failure(["NTLM", "Basic"], hasCredentials: false).message.contains("(NTLM or Basic)"))
    }

    @Test("A server that names no scheme, or very many, has a short message")
    func hostile() {
        #expect(self.failure([], hasCredentials: false).message.hasSuffix("credentials are required"))
        let many = (0..<1000).map { "scheme\($0)" } + [String(repeating: "x", count: 5000)]
        #expect(self.failure(many, hasCredentials: true).message.utf8.count < 200)
    }

    @Test("A status other than 401 says nothing about credentials that were sent")
    func forbidden() {
        let head = ResponseHead(status: 403, framing: .none)
        let failure = ResponseJudge.failure(head, retrying: [], wallNow: 0, hasCredentials: true)
        #expect(!failure.message.contains("credentials"))
    }

    @Test("A refusal by a server whose handshake asked for a client certificate names that setting")
    func clientCertificate() {
        var head = ResponseHead(status: 400, framing: .none)
        #expect(ResponseJudge.failure(head, retrying: [], wallNow: 0).setting == nil)
        head.lacksClientCertificate = true
        #expect(ResponseJudge.failure(head, retrying: [], wallNow: 0).setting == .clientCertificate)
    }
}

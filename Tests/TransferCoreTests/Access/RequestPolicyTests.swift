// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Request policy")
struct RequestPolicyTests {
    @Test(
        "the name in a Host field is that before the port, in lower case",
        arguments: [
            ("localhost", "localhost"), ("LocalHost:8080", "localhost"), ("127.0.0.1:1", "127.0.0.1"), ("[::1]", "::1"),
            ("[FE80::1]:65535", "fe80::1"), ("h:0", "h"), ("h:00080", "h"), ("MÜNCHEN.de", "münchen.de"),
        ]
    )
    func name(field: String, name: String) { #expect(RequestPolicy.name(field) == name) }

    @Test(
        "a malformed Host field has no name",
        arguments: [
            "", ":80", "h:", "h:x", "h:+80", "h:-1", "h:65536", "h:99999999999999999999", "[]", "[::1", "[::1]x",
            "[::1]:",
            "h:\u{301}80", String(repeating: "a", count: 256),
        ]
    )
    func noName(field: String) { #expect(RequestPolicy.name(field) == nil) }

    @Test("a listener's own name is accepted in any case")
    func ownName() {
        let policy = RequestPolicy(listenHost: "Files.Example")
        #expect(policy.verdict(hosts: ["FILES.example:80"], origins: [], localAddress: nil) == .heard(origin: nil))
        guard case .refused = policy.verdict(hosts: ["other.example"], origins: [], localAddress: nil) else {
            Issue.record("another name was accepted")
            return
        }
    }

    @Test("every origin is accepted only if the policy says so; the host is checked all the same")
    func anyOrigin() {
        var policy = RequestPolicy(listenHost: "127.0.0.1", allowedOrigins: ["*"])
        for origin in ["https://a.example", "null", "file://"] {
            guard case .refused = policy.verdict(hosts: ["127.0.0.1"], origins: [origin], localAddress: nil) else {
                Issue.record("\(origin) was accepted")
                continue
            }
        }
        policy.hearsAnyOrigin = true
        for origin in ["https://a.example", "null", "file://"] {
            #expect(
                policy.verdict(hosts: ["127.0.0.1"], origins: [origin], localAddress: nil) == .heard(origin: origin)
            )
        }
        guard case .refused = policy.verdict(hosts: ["a.example"], origins: ["null"], localAddress: nil) else {
            Issue.record("another host was accepted")
            return
        }
    }
}

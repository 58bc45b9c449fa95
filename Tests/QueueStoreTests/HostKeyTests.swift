// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import QueueStore

@Suite struct HostKeyTests {
    @Test(
        arguments: [
            "http://host.example/a", "https://host.example/", "HTTP://Host.EXAMPLE/a", "http://host.example:80/a",
            "http://host.example:8080/a", "http://user:word@host.example/a", "http://h1.example1.example/x?y#z",
            "http://127.0.0.1/a", "http://127.0.0.1:8080/a", "http://10.020.0.1/", "http://10.0.0.256.example/a",
            "http://0.0.0.0:1/a", "http://127.0.0.1:080/a", "http://host.example:65535/a", "http://127.1/a",
            "http://[::1]:9/a", "http://host.example",
            "https://h\u{F6}st.example/a",
            "http://a-b.example/", "http://host.example./", "http://xn--hst-sna.example/",
        ]
    )
    func isThatOfTheParsedOrigin(text: String) throws {
        #expect(HostKey([text]) == HostKey(try HTTPURL(text).origin))
    }

    @Test func tellsSchemeNameAndPort() {
        let texts = ["http://a.example/", "https://a.example/", "http://b.example/", "http://a.example:81/"]
        #expect(Set(texts.map { HostKey([$0]) }).count == texts.count)
    }

    @Test func whatHasNoURLHasNone() {
        #expect(HostKey([]) == .none)
        #expect(HostKey(["[::1]/no URL"]) == .none)
    }
}

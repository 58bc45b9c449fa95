// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("IPv6 addresses")
struct IPv6AddressTests {
    @Test(
        "The text is that of RFC 5952",
        arguments: [
            ("2001:0db8::0001", "2001:db8::1"), ("2001:db8:0:0:0:0:2:1", "2001:db8::2:1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:DB8::A", "2001:db8::a"), ("0:0:0:0:0:0:0:0", "::"),
            ("0:0:0:0:0:0:0:1", "::1"), ("1:0:0:0:0:0:0:0", "1::"), ("::ffff:0102:0304", "::ffff:1.2.3.4"),
            ("::FFFF:1.2.3.4", "::ffff:1.2.3.4"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("1::2:0", "1::2:0"),
            ("0::", "::"), ("::0", "::"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        ]
    )
    func canonical(_ text: String, _ canonical: String) {
        #expect(IPv6Address(text.utf8)?.description == canonical)
        #expect(IPv6Address(canonical.utf8) == IPv6Address(text.utf8))
    }

    @Test(
        "Other texts are refused",
        arguments: [
            "", ":", ":1", "1:", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "g::",
            "::256.1.1.1",
            "::1.2.3", "1.2.3.4", "1.2.3.4::", "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:6:7:8::", "fe80::1%1",
        ]
    )
    func refused(_ text: String) { #expect(IPv6Address(text.utf8) == nil) }

    @Test("Every notation of an address is one origin, in URLs and in origins that a program makes")
    func origins() throws {
        let short = try HTTPURL("http://[::1]:8080/x")
        let long = try HTTPURL("http://[0:0:0:0:0:0:0:1]:8080/x")
        #expect(long.origin == short.origin && long.host == "::1" && long.hostField == "[::1]:8080" && long == short)
        #expect(Origin(scheme: .http, host: "0:0::0001", port: 8080) == short.origin)
        #expect(Origin(scheme: .http, host: "[::1]", port: 8080) == short.origin)
        #expect(Origin(scheme: .https, host: "Example.COM", port: 443).host == "example.com")
    }
}

// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTPTransport

@Suite("Names in certificates")
struct CertificateNameTests {
    private static func matches(_ name: String, _ host: String) -> Bool {
        CertificateName.matches(Array(name.utf8), host: host)
    }

    @Test(
        "equal names match, and wildcards for one label before two others",
        arguments: [
            ("localhost", "localhost"), ("LocalHost.", "localhost"), ("intranet", "INTRANET."), ("a.test", "a.test"),
            ("*.example.com", "www.example.com"), ("*.EXAMPLE.com.", "www.example.COM"),
            ("*.a.example.com", "b.a.example.com"),
        ]
    )
    func matching(name: String, host: String) { #expect(Self.matches(name, host)) }

    @Test(
        "other wildcards match no name",
        arguments: [
            ("*", "localhost"), ("*.", "localhost"), ("*", "*"), ("*.test", "a.test"), ("*.", "a."),
            ("l*", "localhost"),
            ("*t", "localhost"), ("w*.example.com", "www.example.com"), ("**.example.com", "www.example.com"),
            ("www.*.com", "www.example.com"), ("*.*.com", "www.example.com"), ("*..com", "www..com"),
            ("*.example.com", "example.com"), ("*.example.com", "a.b.example.com"), ("*.example.com", ".example.com"),
            ("", ""), ("", "localhost"), (".", "."), ("localhos", "localhost"), ("localhost.test", "localhost"),
        ]
    )
    func notMatching(name: String, host: String) { #expect(!Self.matches(name, host)) }

    @Test("a wildcard in a common name is found, and none in other text")
    func commonNames() {
        let type: [UInt8] = [0x06, 0x03, 0x55, 0x04, 0x03]
        #expect(CertificateName.hasCommonWildcard([0x30, 9] + type + [0x0C, 1, 0x2A]))
        #expect(CertificateName.hasCommonWildcard(type + [0x13, 3, 0x61, 0x2A, 0x61]))
        #expect(!CertificateName.hasCommonWildcard(type + [0x13, 1, 0x61, 0x2A, 0x61]))
        for count in 0..<8 {
            #expect(!CertificateName.hasCommonWildcard(Array((type + [0x0C, 200, 0x61]).prefix(count))))
        }
        #expect(!CertificateName.hasCommonWildcard([]))
    }
}

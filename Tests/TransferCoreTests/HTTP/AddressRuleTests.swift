// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Addresses to which no request is sent")
struct AddressRuleTests {
    private static func kind(_ text: String) throws -> AddressKind? {
        AddressKind(try #require(NetworkAddress(text.utf8), "\(text)"))
    }

    @Test(
        "The kinds of addresses, at both ends of each network",
        arguments: [
            ("0.0.0.0", AddressKind.loopback), ("0.255.255.255", .loopback), ("127.0.0.1", .loopback),
            ("127.255.255.255", .loopback), ("10.0.0.0", .private), ("10.255.255.255", .private),
            ("172.16.0.0", .private), ("172.31.255.255", .private), ("192.168.0.0", .private),
            ("192.168.255.255", .private), ("169.254.0.0", .linkLocal), ("169.254.255.255", .linkLocal),
            ("169.254.169.254", .metadata), ("169.254.170.2", .metadata), ("100.100.100.200", .metadata),
            ("168.63.129.16", .metadata), ("192.0.0.192", .metadata), ("100.64.0.0", .shared),
            ("100.127.255.255", .shared), ("192.0.0.0", .reserved), ("192.0.2.1", .documentation),
            ("198.51.100.255", .documentation), ("203.0.113.0", .documentation), ("192.88.99.1", .reserved),
            ("198.18.0.0", .reserved), ("198.19.255.255", .reserved), ("224.0.0.1", .multicast),
            ("239.255.255.255", .multicast), ("240.0.0.0", .reserved), ("255.255.255.255", .reserved),
            ("::", .loopback), ("::1", .loopback), ("::2", .reserved), ("::127.0.0.1", .reserved),
            ("::ffff:127.0.0.1", .loopback), ("::ffff:169.254.169.254", .metadata), ("fe80::1", .linkLocal),
            ("febf:ffff::1", .linkLocal), ("fc00::", .private), ("fdff::1", .private), ("fec0::1", .private),
            ("fd00:ec2::254", .metadata), ("fd20:ce::254", .metadata), ("ff02::1", .multicast),
            ("64:ff9b::10.0.0.1", .private), ("64:ff9b::169.254.169.254", .metadata), ("64:ff9b:1::1", .private),
            ("2002:7f00:1::", .loopback), ("2002:a9fe:a9fe::1", .metadata), ("2001:0:1::1", .reserved),
            ("2001:1ff:ffff::", .reserved), ("2001:db8::1", .documentation), ("3fff:fff::1", .documentation),
            ("100::1", .reserved), ("5f00::1", .reserved), ("4000::1", .reserved),
        ]
    )
    func special(_ text: String, _ kind: AddressKind) throws { #expect(try Self.kind(text) == kind, "\(text)") }

    @Test(
        "Addresses that are reachable from everywhere have no kind",
        arguments: [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "126.255.255.255", "128.0.0.0", "172.15.255.255", "172.32.0.0",
            "192.167.255.255", "192.169.0.0", "169.253.255.255", "169.255.0.0", "100.63.255.255", "100.128.0.0",
            "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.17", "::ffff:8.8.8.8", "2606:4700::1111",
            "2a00::1", "2001:200::1", "2001:4860:4860::8888", "64:ff9b::8.8.8.8", "2002:808:808::1", "3ffe::1",
        ]
    )
    func common(_ text: String) throws { #expect(try Self.kind(text) == nil, "\(text)") }

    @Test("What is refused by which rule")
    func levels() {
        let none = AddressRule(refusing: .none)
        let metadata = AddressRule(refusing: .metadata)
        let all = AddressRule(refusing: .private)
        for (address, refusals) in [
            ("127.0.0.1", [false, false, true]), ("10.1.2.3", [false, false, true]),
            ("169.254.1.1", [false, true, true]), ("169.254.169.254", [false, true, true]),
            ("fe80::1", [false, true, true]), ("8.8.8.8", [false, false, false]),
            ("no address", [false, false, false]),
        ] {
            let found = [none, metadata, all].map { $0.refusal(of: address, host: "h", port: 80) != nil }
            #expect(found == refusals, "\(address)")
        }
        #expect(AddressRule.Refused.stricter(.none, .metadata) == .metadata)
        #expect(AddressRule.Refused.stricter(.private, .metadata) == .private)
        #expect(AddressRule.Refused.stricter(.none, .none) == .none)
    }

    @Test("Exceptions are addresses, networks with ports, and names of the URL")
    func allowed() {
        let rule = AddressRule(
            refusing: .private,
            allowing: ProxyExceptions("10.1.0.0/16, nas.local 192.168.0.7:8080 [fd00::1]")
        )
        for (address, host, port, isAllowed) in [
            ("10.1.255.1", "x", 80, true), ("10.2.0.1", "x", 80, false), ("192.168.0.9", "nas.local", 80, true),
            ("192.168.0.9", "a.nas.local", 443, true), ("192.168.0.9", "local", 80, false),
            ("192.168.0.7", "x", 8080, true), ("192.168.0.7", "x", 80, false), ("fd00::1", "x", 1, true),
            ("::ffff:10.1.0.1", "x", 80, true),
        ] {
            #expect((rule.refusal(of: address, host: host, port: port) == nil) == isAllowed, "\(address) \(host)")
        }
        #expect(ProxyExceptions.invalidEntry(of: "10.0.0.0/8,nas,::1") == nil)
        #expect(ProxyExceptions.invalidEntry(of: "10.0.0.0/8,10.0.0.0/33") == "10.0.0.0/33")
        #expect(ProxyExceptions.invalidEntry(of: "nas:99999") == "nas:99999")
    }

    @Test("Of a host behind a proxy, written addresses in any notation are judged, and localhost")
    func proxied() {
        let rule = AddressRule(refusing: .private)
        for host in [
            "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.01",
            "10.65535", "::1", "localhost", "localhost.", "a.localhost", "127.0.0.1.", "0", "169.254.43518",
            "012.0.0.1",
            "010.0.0.1", "0300.0250.0.1",
        ] {
            #expect(rule.refusal(ofHost: host, port: 80) != nil, "\(host)")
        }
        for host in [
            "example.org", "8.8.8.8", "134744072", "localhost.example", "127.0.0.1.example", "256.1.1.1", "1.2.3.4.5",
            "127..1", "0x", "08", "4294967296", "+1", "",
        ] {
            #expect(rule.refusal(ofHost: host, port: 80) == nil, "\(host)")
        }
        #expect(AddressRule(refusing: .metadata).refusal(ofHost: "0xa9fea9fe", port: 80) == .metadata)
    }
}

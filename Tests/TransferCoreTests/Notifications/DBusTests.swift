// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("The format of D-Bus")
struct DBusTests {
    @Test(
        "Addresses of a bus",
        arguments: [
            ("unix:path=/run/user/1000/bus", [.path("/run/user/1000/bus")]),
            ("unix:abstract=/tmp/dbus-x,guid=0123", [.abstract("/tmp/dbus-x")]),
            ("unix:guid=01,path=/tmp/a%20b%25", [.path("/tmp/a b%")]),
            ("tcp:host=h,port=1;unix:path=/a;unixexec:path=/b;unix:path=/c", [.path("/a"), .path("/c")]),
            ("unix:runtime=yes", [.path("/run/7/bus")]), ("unix:runtime=no", []),
            ("unix:path=relative", []), ("unix:path=/a%2", []), ("unix:path=/a%zz", []), ("unix:path=/a%00", []),
            ("unix:path=/a%FF", []), ("unix:path=", []), ("unix:path", []), ("unix:", []), ("unix:dir=/tmp", []),
            ("", []), (";;", []), ("disabled:", []), ("autolaunch:", []),
        ] as [(String, [DBusAddress])]
    )
    func addresses(_ text: String, _ expected: [DBusAddress]) {
        #expect(DBusAddress.all(in: text, runtimeDirectory: "/run/7") == expected)
    }

    /// A message as `dbus-monitor --pcap` records it from dbus-daemon: the reply to `Hello`.
    private static let helloReply: [UInt8] =
        [0x6C, 2, 1, 1, 11, 0, 0, 0, 1, 0, 0, 0, 61, 0, 0, 0]
        + [6, 1, 0x73, 0, 6, 0, 0, 0] + Array(":1.234".utf8) + [0, 0]
        + [5, 1, 0x75, 0, 1, 0, 0, 0]
        + [8, 1, 0x67, 0, 1, 0x73, 0, 0]
        + [7, 1, 0x73, 0, 20, 0, 0, 0] + Array("org.freedesktop.DBus".utf8) + [0, 0, 0, 0]
        + [6, 0, 0, 0] + Array(":1.234".utf8) + [0]

    @Test("A reply of dbus-daemon")
    func reply() {
        let bytes = Self.helloReply + [1, 2, 3]
        guard case .message(let message, let size) = DBusMessage.parse(bytes[...]) else {
            Issue.record("no message")
            return
        }
        #expect(size == Self.helloReply.count)
        #expect(message.kind == .reply && message.replySerial == 1 && message.text == ":1.234")
        for count in 0..<size { #expect(DBusMessage.parse(bytes[..<count]) == .incomplete) }
    }

    @Test("Both byte orders are read")
    func bigEndian() {
        let bytes: [UInt8] =
            [0x42, 2, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0, 15] + [5, 1, 0x75, 0, 0, 0, 0, 2]
            + [8, 1, 0x67, 0, 1, 0x75, 0] + [0] + [0, 0, 1, 2]
        var expected = DBusMessage()
        (expected.kind, expected.replySerial, expected.number) = (.reply, 2, 258)
        #expect(DBusMessage.parse(bytes[...]) == .message(expected, size: bytes.count))
    }

    @Test("A message that is too large, or is none, is refused as soon as its head is there")
    func refused() {
        let head: [UInt8] = [0x6C, 2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        #expect(DBusMessage.parse(head[...]) == .message(.init(kind: .reply), size: 16))
        for (index, value) in [(0, 0), (0, 0x6D), (3, 2), (6, 2), (7, 0x7F), (7, 0xFF), (14, 2), (15, 0xFF)] {
            var bytes = head
            bytes[index] = UInt8(value)
            #expect(DBusMessage.parse(bytes[...]) == .invalid, "\(index) \(value)")
        }
    }

    /// Expects that parsing ends, whatever the bytes are.
    private func parses(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while case .message(_, let size) = DBusMessage.parse(rest) {
            guard size >= 16, size <= rest.count else { return false }
            rest = rest.dropFirst(size)
        }
        return true
    }

    @Test("Bytes of any kind do not trap", arguments: 0..<20 as Range<UInt64>)
    func noise(_ seed: UInt64) {
        var random = WalkRandom(seed)
        for _ in 0..<2000 {
            var bytes = Self.helloReply + Self.helloReply
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] =
                    [0, 1, 4, 0x7F, 0x80, 0xFF, .random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
            #expect(self.parses(bytes))
            let size = Int.random(in: 0..<200, using: &random)
            #expect(self.parses([0x6C] + (0..<size).map { _ in .random(in: 0...3, using: &random) }))
        }
    }
}

extension DBusMessage {
    fileprivate init(kind: Kind) {
        self.init()
        self.kind = kind
    }
}

// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite("The conversation that posts a notification")
struct NotifyCallTests {
    private static let notification = DesktopNotification(
        application: "Martlet",
        summary: "Download finished",
        body: "a & b.iso, 1.00 KiB",
        isFailure: false
    )

    private static func call() -> NotifyCall { NotifyCall(Self.notification, replacing: 7, user: 1000) }

    /// A reply with an unsigned integer, or with an error's name and text.
    private static func reply(to serial: UInt32, number: UInt32) -> [UInt8] {
        StubBus.message(2, serial, "u") { $0.integer(number) }
    }

    private static func error(to serial: UInt32, _ name: String) -> [UInt8] {
        StubBus.message(3, serial, "s", error: name) { $0.string("what\u{1B}[2J went wrong") }
    }

    private static let ok = Array("OK 0123456789abcdef\r\n".utf8)
    /// A signal, as the bus sends it after `Hello`.
    private static let signal = StubBus.message(4, 0, "s") { $0.string(":1.2") }

    @Test("Authentication, Hello, Notify, and the number; byte by byte as well as at once")
    func posts() {
        for step in [1, 3, 10_000] {
            var call = Self.call()
            #expect(String(decoding: call.opening, as: UTF8.self) == "\0AUTH EXTERNAL 31303030\r\n")
            var sent: [[UInt8]] = []
            var result: NotifyCall.Action?
            // The bus sends each part only after the call before it.
            for part in [Self.ok, Self.reply(to: 1, number: 0) + Self.signal, Self.reply(to: 2, number: 41)] {
                var rest = part[...]
                while !rest.isEmpty {
                    switch call.received(rest.prefix(step)) {
                    case .receive: break
                    case .send(let bytes): sent.append(bytes)
                    case let end: result = end
                    }
                    rest = rest.dropFirst(step)
                }
            }
            #expect(result == .posted(41))
            #expect(sent.count == 2)
            #expect(sent.first.map { String(decoding: $0.prefix(7), as: UTF8.self) } == "BEGIN\r\n")
        }
    }

    @Test("The arguments of Notify are marshalled as the specification says")
    func arguments() {
        var call = Self.call()
        _ = call.received(Self.ok)
        guard case .send(let bytes) = call.received(Self.reply(to: 1, number: 0)) else {
            Issue.record("no call")
            return
        }
        guard case .message(let message, let size) = DBusMessage.parse(bytes[...]) else {
            Issue.record("no message")
            return
        }
        #expect(message.kind == .call && size == bytes.count && message.text == "Martlet")
        var body = DBusReader(bytes.suffix(Int(bytes[4]) | Int(bytes[5]) << 8), isLittleEndian: true)
        #expect(body.string() == "Martlet" && body.integer() == 7 && body.string() == "")
        #expect(body.string() == "Download finished" && body.string() == "a &amp; b.iso, 1.00 KiB")
        #expect(body.integer() == 0)
        let hints = body.integer()
        #expect(body.align(to: 8) != nil)
        let start = body.offset
        #expect(body.string() == "category" && body.signature() == "s" && body.string() == "transfer.complete")
        #expect(body.align(to: 8) != nil)
        #expect(body.string() == "urgency" && body.signature() == "y" && body.byte() == 1)
        #expect(hints == UInt32(body.offset - start))
        #expect(body.integer() == UInt32.max && body.isAtEnd)
    }

    @Test("A refused authentication, a missing service, another error")
    func failures() {
        var refused = Self.call()
        #expect(
            refused.received(Array("REJECTED EXTERNAL\r\n".utf8))
                == .failed(.refused("the bus refused the authentication"))
        )
        var absent = Self.call()
        _ = absent.received(Self.ok)
        _ = absent.received(Self.reply(to: 1, number: 0))
        #expect(
            absent.received(Self.error(to: 2, "org.freedesktop.DBus.Error.ServiceUnknown")) == .failed(.noService)
        )
        var failing = Self.call()
        _ = failing.received(Self.ok)
        #expect(
            failing.received(Self.error(to: 1, "org.example.Error"))
                == .failed(.refused("the notification service failed: what\u{FFFD}[2J went wrong"))
        )
    }

    @Test(
        "A bus that sends something else is refused, and bytes of any kind do not trap",
        arguments: 0..<20 as Range<UInt64>
    )
    func hostile(_ seed: UInt64) {
        var random = WalkRandom(seed)
        var endless = Self.call()
        #expect(endless.received([UInt8](repeating: 0x41, count: 2000)) != .receive)
        for _ in 0..<300 {
            var call = Self.call()
            var bytes = Self.ok + Self.reply(to: 1, number: 0) + Self.signal + Self.reply(to: 2, number: 3)
            // Often the authentication is left as it is.
            let start = Bool.random(using: &random) ? 0 : Self.ok.count
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: start..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...64, using: &random)
                _ = call.received(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
        }
    }
}

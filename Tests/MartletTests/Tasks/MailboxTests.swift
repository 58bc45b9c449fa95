// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Martlet

@Suite("Mailboxes of tasks", .timeLimit(.minutes(1)))
struct MailboxTests {
    @Test("Two consumers may wait at once: each gets an event, and both get the end")
    func twoConsumers() async {
        for _ in 0..<200 {
            let mailbox = Mailbox(FlowGate())
            async let first = Self.bytes(mailbox)
            async let second = Self.bytes(mailbox)
            for _ in 0..<10 { await Task.yield() }
            mailbox.put(.data([1]))
            mailbox.put(.data([2]))
            mailbox.close()
            #expect(await (first + second).sorted() == [1, 2])
        }
    }

    /// The bytes of one consumer, until the end.
    private static func bytes(_ mailbox: Mailbox) async -> [UInt8] {
        var bytes: [UInt8] = []
        while case .data(let more)? = await mailbox.next() { bytes += more }
        return bytes
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization
internal import TransferCore

/// The bounded channel between the engine and one consumer.
final class EventSubscriber: Sendable {
    /// A weak reference: the subscriber lives as long as its sequence.
    struct Reference: Sendable { weak let subscriber: EventSubscriber? }

    private let channel: Channel<PendingEvents, Never>
    private let whenUnused = Mutex<(@Sendable () -> Void)?>(nil)

    init(capacity: Int) { self.channel = Channel(PendingEvents(capacity: capacity)) }

    deinit { self.whenUnused.withLock { $0 }?() }

    /// Sets a callback that is called when the sequence is released.
    func whenUnused(_ work: @escaping @Sendable () -> Void) { self.whenUnused.withLock { $0 = work } }

    func put(_ event: TransferEvent) { self.channel.put(event) }

    func finish() { self.channel.finish() }

    func next() async -> TransferEvent? { await self.channel.next() }
}

/// Undelivered events: progress is coalesced, and beyond the capacity the oldest event is dropped.
private struct PendingEvents: ChannelBuffer {
    private let capacity: Int
    private var events = FirstInFirstOut<TransferEvent>()
    private var missed = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    mutating func append(_ event: TransferEvent) -> Bool {
        if case .progress = event.kind {
            let isReplaced: Bool? = self.events.changeLast(
                where: { $0.id == event.id },
                { last in
                    guard case .progress = last.kind else { return false }
                    last = event
                    return true
                }
            )
            if isReplaced == true { return true }
        }
        if self.events.count >= self.capacity, self.events.popFirst() != nil { self.missed += 1 }
        self.events.append(event)
        return true
    }

    mutating func popFirst() -> TransferEvent? {
        guard self.missed == 0 else {
            defer { self.missed = 0 }
            return TransferEvent(id: nil, url: "", userInfo: nil, kind: .missed(self.missed))
        }
        return self.events.popFirst()
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import TransferCore

/// The unread events of one listener; beyond the capacity, progress is dropped first, then the sequence ends.
final class Listener: Sendable {
    private let channel: Channel<UnreadEvents, Never>

    init(capacity: Int) { self.channel = Channel(UnreadEvents(capacity: capacity)) }

    /// - Returns: Whether it keeps listening.
    func put(_ event: ServiceEvent) -> Bool { self.channel.put(event) }

    func finish() { self.channel.finish() }

    /// The next event, or `nil` at the end; a cancellation is the end.
    func next() async -> ServiceEvent? {
        let event = await self.channel.next()
        if event == nil { self.finish() }
        return event
    }
}

private struct UnreadEvents: ChannelBuffer {
    private let capacity: Int
    private var events = FirstInFirstOut<ServiceEvent>()
    private var hasProgress = false

    init(capacity: Int) { self.capacity = capacity }

    mutating func append(_ event: ServiceEvent) -> Bool {
        if case .progress = event {
            // The newest progress replaces the one before it.
            if self.hasProgress { self.dropProgress() }
            guard self.events.count < self.capacity else { return true }
            self.hasProgress = true
        } else if self.events.count >= self.capacity {
            self.dropProgress()
            guard self.events.count < self.capacity else { return false }
        }
        self.events.append(event)
        return true
    }

    mutating func popFirst() -> ServiceEvent? {
        let event = self.events.popFirst()
        if case .progress? = event { self.hasProgress = false }
        return event
    }

    private mutating func dropProgress() {
        self.events.removeAll { if case .progress = $0 { true } else { false } }
        self.hasProgress = false
    }
}

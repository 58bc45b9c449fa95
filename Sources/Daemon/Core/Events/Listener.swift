// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import TransferCore

/// The unread events of one listener; beyond the capacity, progress is dropped first, then the sequence ends.
final class Listener: Sendable {
    /// The kinds of events that it receives.
    let interest: ServiceEvent.Interest
    private let channel: Channel<UnreadEvents, Never>

    init(_ interest: ServiceEvent.Interest, capacity: Int) {
        self.interest = interest
        self.channel = Channel(UnreadEvents(capacity: capacity))
    }

    /// Adds events of its interest.
    ///
    /// - Returns: Whether it keeps listening.
    func put(_ events: [ServiceEvent]) -> Bool { self.channel.put(events) }

    func finish() { self.channel.finish() }

    /// The next events, or `nil` at the end; a cancellation is the end.
    func next() async -> [ServiceEvent]? {
        let events = await self.channel.next()
        if events == nil { self.finish() }
        return events
    }
}

private struct UnreadEvents: ChannelBuffer {
    /// The maximum number of events that are taken at once.
    private static let batch = 256

    private let capacity: Int
    private var events = FirstInFirstOut<ServiceEvent>()
    private var hasProgress = false

    init(capacity: Int) { self.capacity = capacity }

    mutating func append(_ events: [ServiceEvent]) -> Bool { events.allSatisfy { self.append($0) } }

    private mutating func append(_ event: ServiceEvent) -> Bool {
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

    mutating func popFirst() -> [ServiceEvent]? {
        var batch: [ServiceEvent] = []
        while batch.count < Self.batch, let event = self.events.popFirst() {
            if case .progress = event { self.hasProgress = false }
            batch.append(event)
        }
        return batch.isEmpty ? nil : batch
    }

    private mutating func dropProgress() {
        self.events.removeAll { if case .progress = $0 { true } else { false } }
        self.hasProgress = false
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Concurrency

/// The undelivered events of one sequence.
final class Mailbox: Sendable {
    /// A weak reference: the mailbox lives as long as its sequence.
    struct Reference: Sendable { weak let mailbox: Mailbox? }

    private let flow: FlowGate
    private let channel = Channel<PendingTaskEvents, Never>(PendingTaskEvents())

    init(_ flow: FlowGate) { self.flow = flow }

    deinit {
        while let event = self.channel.poll() { self.release(event) }
    }

    func put(_ event: TaskEvent) { self.channel.put(event) }

    /// Marks the end: no more events follow.
    func close() { self.channel.finish() }

    func next() async -> TaskEvent? {
        let event = await self.channel.next()
        if let event { self.release(event) }
        return event
    }

    private func release(_ event: TaskEvent) {
        if case .data(let bytes) = event { self.flow.release(bytes.count) }
    }
}

/// A task's undelivered events: consecutive progress is coalesced, and the flow gate bounds the bytes.
private struct PendingTaskEvents: ChannelBuffer {
    private var events: [TaskEvent] = []
    private var first = 0

    mutating func append(_ event: TaskEvent) -> Bool {
        switch (event, self.first < self.events.count ? self.events.last : nil) {
        case (.progress, .progress?): self.events[self.events.count - 1] = event
        case (.sent(var news), .sent(let last)?):
            news.bytesSinceLast += last.bytesSinceLast
            self.events[self.events.count - 1] = .sent(news)
        default: self.events.append(event)
        }
        return true
    }

    mutating func popFirst() -> TaskEvent? {
        guard self.first < self.events.count else { return nil }
        let event = self.events[self.first]
        self.first += 1
        if self.first == self.events.count || self.first > 64 {
            self.events.removeFirst(self.first)
            self.first = 0
        }
        return event
    }
}

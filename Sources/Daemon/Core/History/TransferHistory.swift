// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore
internal import TransferEngine

/// The recent events of transfers, in bounded memory: the last ones of each transfer, and those of the transfers with the
/// latest events.
///
/// Pure value. It stores facts; words are made when they are read.
///
/// - Invariant: ``cost`` is at most `limits.bytes`.
struct TransferHistory: Sendable {
    /// The bounds.
    struct Limits: Sendable {
        /// The maximum number of events of a transfer.
        var events = 64
        /// The maximum number of bytes of a text.
        var text = 1024
        /// The maximum number of bytes of a response's header fields; later fields are left out.
        var fields = 8192
        /// The maximum cost of all transfers together, about their memory in bytes.
        var bytes = 4 << 20
    }

    /// The kind of event.
    enum Event: Sendable {
        /// An attempt started with this URL, which has no secrets.
        case started(url: String)
        /// The head of a final response was received.
        case response(status: Int, expected: Int64?, resumedFrom: Int64, fields: HeaderFields)
        /// An attempt failed with these bytes present, and another one follows.
        case retrying(String, attempt: Int, delay: Duration, bytes: Int64)
        /// A detail.
        case note(String)
        /// The transfer has its content, or had it already.
        case finished(bytes: Int64, duration: Duration, isSkipped: Bool)
        /// The attempt ended otherwise, and no automatic attempt follows; the outcome is a word.
        case ended(EventText, bytes: Int64)
    }

    /// The fixed cost of an event and of a transfer: their memory, about.
    static let eventCost = MemoryLayout<Entry>.stride
    static let transferCost = MemoryLayout<Entries>.stride + 96

    struct Entry: Sendable {
        /// Seconds since 1970.
        var at: Double
        var event: Event
    }

    struct Entries: Sendable {
        var entries: [Entry] = []
        /// The time of the first start, which outlives its event.
        var started: Double?
        var cost = TransferHistory.transferCost
        /// The number of the last event of all transfers that was this one's.
        var serial: UInt64 = 0
    }

    let limits: Limits
    private var transfers: [GID: Entries] = [:]
    /// The transfers in the order of their last events; an element whose number is not its transfer's last is obsolete.
    private var order = FirstInFirstOut<(id: GID, serial: UInt64)>()
    private var serial: UInt64 = 0
    /// The cost of all events.
    private(set) var cost = 0

    init(limits: Limits = Limits()) { self.limits = limits }

    /// The number of transfers with events.
    var count: Int { self.transfers.count }

    /// Records an event of a transfer; `at` is seconds since 1970.
    mutating func record(_ id: GID, _ event: Event, at: Double) {
        self.serial += 1
        let entry = Entry(at: at, event: self.bounded(event))
        self.cost += self.transfers[id, default: Entries()].append(entry, self.serial, limit: self.limits.events)
        self.order.append((id, self.serial))
        self.evict()
    }

    mutating func forget(_ id: GID) {
        guard let entries = self.transfers.removeValue(forKey: id) else { return }
        self.cost -= entries.cost
    }

    /// The recorded events of a transfer, oldest first.
    func entries(of id: GID) -> Entries? { self.transfers[id] }

    private mutating func evict() {
        while self.cost > self.limits.bytes, let (id, serial) = self.order.popFirst() {
            if self.transfers[id]?.serial == serial { self.forget(id) }
        }
        guard self.order.count > 2 * self.transfers.count + 64 else { return }
        self.order.removeAll { [transfers = self.transfers] in transfers[$0.id]?.serial != $0.serial }
    }

    // MARK: Bounds

    private func bounded(_ event: Event) -> Event {
        switch event {
        case .finished: return event
        case .started(let url): return .started(url: self.bounded(url))
        case .retrying(let message, let attempt, let delay, let bytes):
            return .retrying(self.bounded(message), attempt: attempt, delay: delay, bytes: bytes)
        case .note(let text): return .note(self.bounded(text))
        case .ended(var text, let bytes):
            text.text = self.bounded(text.text)
            return .ended(text, bytes: bytes)
        case .response(let status, let expected, let resumedFrom, let fields):
            guard Self.cost(of: fields) > self.limits.fields else { return event }
            var first = HeaderFields()
            var cost = 0
            for (name, value) in fields {
                cost += name.utf8.count + value.utf8.count + Self.lineCost
                guard cost <= self.limits.fields else { break }
                first.append(name, value)
            }
            return .response(status: status, expected: expected, resumedFrom: resumedFrom, fields: first)
        }
    }

    private func bounded(_ text: String) -> String {
        guard text.utf8.count > self.limits.text else { return text }
        return String(decoding: text.utf8.prefix(max(0, self.limits.text - 6)), as: UTF8.self) + "…"
    }

    private static let lineCost = 16

    private static func cost(of fields: HeaderFields) -> Int {
        var sum = 0
        fields.forEachLine { sum += $0.count + $1.count + Self.lineCost }
        return sum
    }

    fileprivate static func cost(of event: Event) -> Int {
        switch event {
        case .started(let text), .note(let text), .retrying(let text, _, _, _): Self.eventCost + text.utf8.count
        case .ended(let text, _): Self.eventCost + text.text.utf8.count
        case .finished: Self.eventCost
        case .response(_, _, _, let fields): Self.eventCost + Self.cost(of: fields)
        }
    }
}

extension TransferHistory.Entries {
    /// Appends an event, and returns the change of the cost of all transfers.
    fileprivate mutating func append(_ entry: TransferHistory.Entry, _ serial: UInt64, limit: Int) -> Int {
        let before = self.serial == 0 ? 0 : self.cost
        if self.serial == 0 { self.entries.reserveCapacity(3) }
        self.serial = serial
        if case .started = entry.event { self.started = self.started ?? entry.at }
        // Only the last response is shown with its fields.
        if case .response = entry.event { self.dropFields() }
        self.entries.append(entry)
        self.cost += TransferHistory.cost(of: entry.event)
        if self.entries.count > limit { self.cost -= TransferHistory.cost(of: self.entries.removeFirst().event) }
        return self.cost - before
    }

    private mutating func dropFields() {
        for index in self.entries.indices.reversed() {
            guard case .response(let status, let expected, let resumedFrom, let fields) = self.entries[index].event
            else { continue }
            guard !fields.isEmpty else { return }
            self.cost -= TransferHistory.cost(of: self.entries[index].event)
            self.entries[index].event = .response(
                status: status,
                expected: expected,
                resumedFrom: resumedFrom,
                fields: HeaderFields()
            )
            self.cost += TransferHistory.cost(of: self.entries[index].event)
            return
        }
    }
}

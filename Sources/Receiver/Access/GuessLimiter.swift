// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer

/// Limits how fast credentials can be guessed, per address and in total.
///
/// Pure value: the time is an argument. Some wrong credentials of an address are free. After these, one of its
/// credentials is checked per second; those in between are refused unchecked, right ones included. If many addresses
/// fail within a minute, none is free, and an address waits longer with each further wrong one. An address without
/// failures is never refused.
///
/// A right credential takes no time from others, and forgives no wrong one. A wrong one that is repeated is not a guess.
struct GuessLimiter: Sendable {
    private struct Record {
        /// The number of different wrong credentials.
        var failures = 0
        /// The hashes of the last wrong credentials: programs that repeat them do not guess.
        var wrong: [Int] = []
        var lastFailure: ContinuousClock.Instant
        /// The end of the time for which the wrong credentials have to wait.
        var refusedUntil: ContinuousClock.Instant
        /// The credential being checked, and the end of the time that belongs to it.
        var slot: (credential: Int, end: ContinuousClock.Instant)?
        /// The minute in which failures were counted in the total, and their number.
        var counted: (minute: ContinuousClock.Instant, failures: Int)?
    }

    /// Whether a credential may be checked.
    enum Admission: Sendable, Hashable {
        /// It may; its slot must be returned by ``succeeded(_:slot:)`` if it is right.
        case checked(slot: ContinuousClock.Instant?)
        /// It may not, for this time.
        case refused(Duration)
    }

    /// The number of different wrong credentials of an address after which it waits.
    static let free = 6
    /// The time between two checks of an address that has used up the free ones.
    static let interval = Duration.seconds(1)
    /// The number of wrong credentials per minute, in total, above which none is free.
    ///
    /// The total counts at most ``free`` of an address: one alone must not slow down others.
    static let freeInTotal = 60
    /// The maximum time for which an address is refused.
    static let longest = Duration.seconds(60)
    /// The minimum time for which an address is refused while the total is exceeded.
    static let shortestInTotal = Duration.seconds(10)
    /// The time after which the failures of an address are forgotten.
    static let memory = Duration.seconds(600)
    /// The maximum number of addresses that are remembered.
    static let mostAddresses = 8192
    /// The number of wrong credentials of an address that are recognized when they are repeated.
    static let mostRepeated = 8

    private var records: [ClientNetwork: Record] = [:]
    private var minute: ContinuousClock.Instant?
    private var failuresInMinute = 0

    init() {}

    /// The number of addresses that are remembered.
    var addressCount: Int { self.records.count }

    /// Decides whether a credential may be checked.
    ///
    /// - Parameters:
    ///   - address: The address that presents it.
    ///   - credential: A hash of the credential.
    ///   - now: The current time.
    /// - Returns: The decision. If it may, ``failed(_:credential:at:)`` or ``succeeded(_:slot:)`` follows.
    mutating func admit(_ address: String, credential: Int, at now: ContinuousClock.Instant) -> Admission {
        let key = ClientNetwork(address)
        guard var record = self.records[key], now - record.lastFailure <= Self.memory else {
            return .checked(slot: nil)
        }
        guard record.refusedUntil <= now else { return .refused(record.refusedUntil - now) }
        if let slot = record.slot, slot.end > now {
            // A client with several connections presents the same one; this is one guess.
            return slot.credential == credential ? .checked(slot: nil) : .refused(slot.end - now)
        }
        guard record.failures >= (self.isCrowded(at: now) ? 1 : Self.free), !record.wrong.contains(credential) else {
            return .checked(slot: nil)
        }
        // Taken before the check: credentials that are checked at the same time would pass all.
        let end = now + Self.interval
        record.slot = (credential, end)
        self.records[key] = record
        return .checked(slot: end)
    }

    /// Returns the slot of a right credential, so that the next one can be checked at once.
    mutating func succeeded(_ address: String, slot: ContinuousClock.Instant?) {
        let key = ClientNetwork(address)
        guard let slot, self.records[key]?.slot?.end == slot else { return }
        self.records[key]?.slot = nil
    }

    /// Counts a wrong credential.
    ///
    /// - Parameters:
    ///   - address: The address that presented it.
    ///   - credential: A hash of the credential.
    ///   - now: The current time.
    mutating func failed(_ address: String, credential: Int, at now: ContinuousClock.Instant) {
        let key = ClientNetwork(address)
        var record = self.records[key] ?? Record(lastFailure: now, refusedUntil: now)
        if now - record.lastFailure > Self.memory {
            record = Record(lastFailure: now, refusedUntil: now, counted: record.counted)
        }
        record.lastFailure = now
        if !record.wrong.contains(credential) {
            record.wrong.append(credential)
            if record.wrong.count > Self.mostRepeated { record.wrong.removeFirst() }
            record.failures = min(record.failures + 1, 1000)
            self.count(&record, at: now)
            if self.isCrowded(at: now) {
                let wait = min(Self.longest, .seconds(1 << min(record.failures - 1, 6)))
                record.refusedUntil = max(record.refusedUntil, now + max(wait, Self.shortestInTotal))
            } else if record.failures >= Self.free {
                // One request can have several.
                record.refusedUntil = max(record.refusedUntil, now) + Self.interval
            }
        }
        self.records[key] = record
        if self.records.count > Self.mostAddresses { self.forget() }
    }

    /// Counts a failure in the total.
    private mutating func count(_ record: inout Record, at now: ContinuousClock.Instant) {
        let minute: ContinuousClock.Instant
        if let current = self.minute, now - current < .seconds(60) {
            minute = current
        } else {
            minute = now
            self.minute = now
            self.failuresInMinute = 0
        }
        let counted = record.counted.flatMap { $0.minute == minute ? $0.failures : nil } ?? 0
        guard counted < Self.free else { return }
        record.counted = (minute, counted + 1)
        self.failuresInMinute += 1
    }

    /// Whether many addresses fail.
    private func isCrowded(at now: ContinuousClock.Instant) -> Bool {
        guard let minute, now - minute < .seconds(60) else { return false }
        return self.failuresInMinute > Self.freeInTotal
    }

    /// Forgets the half of the addresses whose last failures are the oldest.
    private mutating func forget() {
        let times = self.records.values.map(\.lastFailure).sorted()
        let limit = times[times.count / 2]
        self.records = self.records.filter { $0.value.lastFailure > limit }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Limits how fast credentials can be guessed, per address and in total.
///
/// Pure value: the time is an argument. After some wrong credentials, those of an address are refused unchecked for a
/// while that doubles with each further wrong one. If many addresses fail within a minute, each new one is refused after
/// its first failure. An address without failures is never refused.
struct GuessLimiter: Sendable {
    private struct Record {
        /// The number of different wrong credentials in a row.
        var failures = 0
        /// The hash of the last wrong credential: a program that repeats one does not guess.
        var last: Int?
        var lastFailure: ContinuousClock.Instant
        var refusedUntil: ContinuousClock.Instant
    }

    /// The number of wrong credentials of one address that are only refused themselves.
    static let free = 5
    /// The number of wrong credentials per minute, in total, above which none is free.
    static let freeInTotal = 60
    /// The maximum time for which an address is refused.
    static let longest = Duration.seconds(60)
    /// The minimum time for which an address is refused while the total is exceeded.
    static let shortestInTotal = Duration.seconds(10)
    /// The time after which the failures of an address are forgotten.
    private static let memory = Duration.seconds(600)
    /// The maximum number of addresses that are remembered.
    static let mostAddresses = 8192

    private var records: [String: Record] = [:]
    private var minute: ContinuousClock.Instant?
    private var failuresInMinute = 0

    init() {}

    /// The number of addresses that are remembered.
    var addressCount: Int { self.records.count }

    /// The time for which the credentials of an address must not be checked, or `nil` if they may be.
    func refusal(of address: String, at now: ContinuousClock.Instant) -> Duration? {
        guard let record = self.records[Self.key(address)], record.refusedUntil > now else { return nil }
        return record.refusedUntil - now
    }

    /// Counts a wrong credential.
    ///
    /// - Parameters:
    ///   - address: The address that presented it.
    ///   - credential: A hash of the credential.
    ///   - now: The current time.
    mutating func failed(_ address: String, credential: Int, at now: ContinuousClock.Instant) {
        let key = Self.key(address)
        var record = self.records[key] ?? Record(lastFailure: now, refusedUntil: now)
        if now - record.lastFailure > Self.memory { record = Record(lastFailure: now, refusedUntil: now) }
        record.lastFailure = now
        if record.last != credential {
            record.last = credential
            record.failures = min(record.failures + 1, 1000)
            let isCrowded = self.count(at: now) > Self.freeInTotal
            let over = record.failures - (isCrowded ? 0 : Self.free)
            if over > 0 {
                let wait = min(Self.longest, .seconds(1 << min(over - 1, 6)))
                record.refusedUntil = now + (isCrowded ? max(wait, Self.shortestInTotal) : wait)
            }
        }
        self.records[key] = record
        if self.records.count > Self.mostAddresses { self.forget() }
    }

    /// Counts a failure, and returns the number in the current minute.
    private mutating func count(at now: ContinuousClock.Instant) -> Int {
        if let minute, now - minute < .seconds(60) {
            self.failuresInMinute += 1
        } else {
            self.minute = now
            self.failuresInMinute = 1
        }
        return self.failuresInMinute
    }

    /// Forgets the half of the addresses whose last failures are the oldest.
    private mutating func forget() {
        let times = self.records.values.map(\.lastFailure).sorted()
        let limit = times[times.count / 2]
        self.records = self.records.filter { $0.value.lastFailure > limit }
    }

    /// An IPv4 address, or the first 64 bits of an IPv6 address: one client usually has all addresses of such a network.
    private static func key(_ address: String) -> String {
        guard address.contains(":"), !address.hasPrefix("::ffff:"), let bytes = IPAddress.v6(address) else {
            return address
        }
        return Hexadecimal.encode(bytes.prefix(8))
    }
}

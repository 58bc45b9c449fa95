// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The cookies of sign-ins that have ended before their time, because their users signed out.
///
/// Pure value. A cookie is known by its random number. The list is bounded; what it cannot name ends with all cookies
/// of its age: those that end at ``floor`` or earlier count as signed out. No cookie that is in the list, or was, is
/// ever valid again, whatever the clock does.
///
/// Its records are the payloads of a `LineLog`; they can be applied in any order, and several times.
struct SignOutList: Sendable, Hashable {
    /// The maximum number of cookies.
    static let usualMost = 10_000

    /// The cookies, and the latest time at which they could end, in seconds since 1970.
    private(set) var entries: [String: Int64] = [:]
    /// All cookies that end at this time or earlier count as signed out, in seconds since 1970.
    private(set) var floor: Int64 = 0
    private let most: Int

    init(most: Int = SignOutList.usualMost) { self.most = most }

    /// Whether a cookie has ended.
    func contains(_ cookie: SignInCookie.Content) -> Bool {
        cookie.expires <= self.floor || self.entries[cookie.id] != nil
    }

    /// Ends cookies.
    ///
    /// - Parameters:
    ///   - cookies: The cookies, which may be renewed ones: all with their random numbers end.
    ///   - now: The current time, in seconds since 1970.
    /// - Returns: The record of the change.
    mutating func add(_ cookies: [SignInCookie.Content], now: Double) -> [UInt8] {
        var added: [String: Int64] = [:]
        let latest = SignInCookie.end(now: now, after: self.floor)
        for cookie in cookies { added[cookie.id] = max(cookie.expires, latest) }
        self.entries.merge(added) { max($0, $1) }
        self.shrink()
        return Self.record(added, self.floor)
    }

    /// Ends all cookies that were made until now.
    mutating func endAll(now: Double) {
        self.raise(to: self.entries.values.reduce(SignInCookie.end(now: now, after: self.floor)) { max($0, $1) })
    }

    /// Removes cookies that end by themselves.
    mutating func prune(now: Double) {
        let over = self.entries.values.filter { Double($0) <= now }.max()
        if let over { self.raise(to: over) }
    }

    /// Removes the half of the cookies that end first, if there are too many.
    private mutating func shrink() {
        guard self.entries.count > self.most else { return }
        let ends = self.entries.values.sorted()
        self.raise(to: ends[ends.count / 2])
    }

    private mutating func raise(to floor: Int64) {
        self.floor = max(self.floor, floor)
        self.entries = self.entries.filter { $0.value > self.floor }
    }

    // MARK: Records

    /// The record of everything.
    var snapshot: [UInt8] { Self.record(self.entries, self.floor) }

    private static func record(_ entries: [String: Int64], _ floor: Int64) -> [UInt8] {
        let ended = entries.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer($0.value)) }
        return JSON.object([JSON.Member("ended", .object(ended)), JSON.Member("floor", .integer(floor))]).bytes
    }

    /// Applies a record.
    ///
    /// - Returns: Whether it is valid.
    mutating func apply(_ record: [UInt8]) -> Bool {
        guard let json = try? JSON(parsing: record), let ended = json["ended"]?.object,
            let floor = json["floor"]?.integer
        else { return false }
        for member in ended {
            guard let end = member.value.integer else { return false }
            self.entries[member.name] = max(self.entries[member.name] ?? end, end)
        }
        self.raise(to: floor)
        self.shrink()
        return true
    }
}

// SPDX-License-Identifier: Apache-2.0
/// The downloads of a list by their ids, and the names that they use.
struct OfflineEntries: Sendable {
    private var entries: [String: OfflineEntry] = [:]
    /// The names in use.
    private(set) var names = OfflineNames()

    /// The download with this id.
    subscript(id: String) -> OfflineEntry? {
        get { self.entries[id] }
        set {
            let (old, new) = (self.entries[id]?.record.name, newValue?.record.name)
            if old != new {
                if let old { self.names.release(old) }
                if let new { self.names.take(new) }
            }
            self.entries[id] = newValue
        }
    }

    var keys: Dictionary<String, OfflineEntry>.Keys { self.entries.keys }
    var values: Dictionary<String, OfflineEntry>.Values { self.entries.values }

    /// The names in use, for reserving one before its download exists.
    mutating func withNames<Value>(_ body: (inout OfflineNames) -> Value) -> Value { body(&self.names) }
}

/// The names that the downloads of a list use: each its file's, and those of the partial file and its journal.
struct OfflineNames: Sendable {
    private var counts: [String: Int] = [:]
    /// The last number that was given to a name.
    private var numbers: [String: Int] = [:]

    /// The names that one download uses (see DiskStore).
    static func all(of name: String) -> [String] { [name, name + ".part", name + ".part.journal"] }

    func isFree(_ name: String) -> Bool { Self.all(of: name).allSatisfy { self.counts[$0] == nil } }

    mutating func take(_ name: String) { for name in Self.all(of: name) { self.counts[name, default: 0] += 1 } }

    mutating func release(_ name: String) {
        for name in Self.all(of: name) {
            let count = self.counts[name, default: 0] - 1
            self.counts[name] = count > 0 ? count : nil
        }
    }

    /// Takes the wanted name, or the first numbered one that is free.
    ///
    /// Numbers up to the last one given are not tried again, so that many downloads of one name do not take quadratic
    /// time.
    ///
    /// - Parameters:
    ///   - wanted: The name without a number.
    ///   - number: The number of the last name that was tried, 0 for the wanted name itself, or `nil` for none.
    /// - Returns: The name and its number.
    mutating func take(wanted: String, after number: Int?) -> (name: String, number: Int) {
        if number == nil, self.isFree(wanted) {
            self.take(wanted)
            return (wanted, 0)
        }
        var next = max(number ?? 0, self.numbers[wanted] ?? 0)
        var name = wanted
        repeat {
            next += 1
            name = FileName.numbered(wanted, next)
        } while !self.isFree(name)
        self.numbers[wanted] = next
        self.take(name)
        return (name, next)
    }
}

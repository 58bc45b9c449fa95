// SPDX-License-Identifier: Apache-2.0
/// The domains below which anyone can register names, such as `com` and `co.uk`, for which no cookie is accepted.
///
/// Compact: the names are stored in one sorted block of bytes, about 200 KB for the whole list of 10,000 rules.
///
/// - Source: https://publicsuffix.org/list/ (its format and its algorithm).
public struct PublicSuffixes: Sendable {
    /// The rules for a name, as bits.
    private struct Kind: OptionSet {
        let rawValue: UInt8
        /// The name is a public suffix.
        static let suffix = Kind(rawValue: 1)
        /// Every name directly below it is a public suffix.
        static let wildcard = Kind(rawValue: 2)
        /// It is not a public suffix, an exception to a wildcard.
        static let exception = Kind(rawValue: 4)
    }

    /// The maximum size of a list in bytes; the real list has a third of a megabyte.
    private static let longest = 1 << 26

    private var names: [UInt8] = []
    /// The end offset of each name; a name starts at the end of the previous one.
    private var ends: [UInt32] = []
    private var kinds: [Kind] = []

    /// Creates an empty list: only domains of a single label are public suffixes.
    public init() {}

    /// Parses the text of a public suffix list; invalid lines are ignored.
    public init(_ text: String) { self.init(bytes: Array(text.utf8)) }

    /// Parses the bytes of a public suffix list; invalid lines are ignored.
    public init(bytes: [UInt8]) {
        var rules: [(name: [UInt8], kind: Kind)] = []
        for line in bytes.prefix(Self.longest).split(whereSeparator: { $0 == Byte.lf || $0 == Byte.cr }) {
            if let rule = Self.rule(line) { rules.append(rule) }
        }
        rules.sort { $0.name.lexicographicallyPrecedes($1.name) }
        var previous: [UInt8]?
        for rule in rules {
            if rule.name == previous {
                self.kinds[self.kinds.count - 1].formUnion(rule.kind)
                continue
            }
            self.names.append(contentsOf: rule.name)
            self.ends.append(UInt32(truncatingIfNeeded: self.names.count))
            self.kinds.append(rule.kind)
            previous = rule.name
        }
    }

    /// The number of names that have rules.
    public var count: Int { self.kinds.count }

    /// Whether the only rule is that of the single label.
    public var isEmpty: Bool { self.kinds.isEmpty }

    /// Whether anyone can register names below this domain, which is in ASCII and not an address.
    ///
    /// Case and a trailing dot are ignored.
    public func isPublicSuffix(_ domain: String) -> Bool {
        var name = domain.utf8.map(ASCII.lowercase)[...]
        if name.last == 0x2E { name.removeLast() }
        guard let dot = name.firstIndex(of: 0x2E) else { return true }
        let kind = self.kind(name)
        if kind.contains(.exception) { return false }
        return kind.contains(.suffix) || self.kind(name[(dot + 1)...]).contains(.wildcard)
    }

    /// The registered domain of a host, which is one label longer than its public suffix.
    ///
    /// An address is its own domain, and so is a public suffix.
    public func registeredDomain(of host: String) -> String {
        guard !CookieDomain.isAddress(host) else { return host }
        var domain = host
        for parent in CookieDomain.parents(of: host) {
            if self.isPublicSuffix(parent) { return domain }
            domain = parent
        }
        return domain
    }

    /// The rules for a name, found by binary search.
    private func kind(_ name: ArraySlice<UInt8>) -> Kind {
        var range = 0..<self.kinds.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let found = self.name(middle)
            if found.elementsEqual(name) { return self.kinds[middle] }
            if found.lexicographicallyPrecedes(name) {
                range = (middle + 1)..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        return []
    }

    private func name(_ index: Int) -> ArraySlice<UInt8> {
        self.names[(index == 0 ? 0 : Int(self.ends[index - 1]))..<Int(self.ends[index])]
    }

    /// Whether a byte is literal in a lower-case name.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E
    }

    private static func rule(_ line: ArraySlice<UInt8>) -> (name: [UInt8], kind: Kind)? {
        var rule = Array(line.drop(while: Byte.isBlank).prefix { !Byte.isBlank($0) })[...]
        guard !rule.isEmpty, !rule.starts(with: "//".utf8) else { return nil }
        var kind = Kind.suffix
        if rule.first == 0x21 {
            kind = .exception
            rule = rule.dropFirst()
        } else if rule.starts(with: "*.".utf8) {
            kind = .wildcard
            rule = rule.dropFirst(2)
        }
        if rule.first == 0x2E { rule = rule.dropFirst() }
        // No list has a star elsewhere; the rule `*` alone is implicit.
        if rule.allSatisfy(Self.isPlain), rule.first != 0x2E, HostName.isRegisteredName(rule) {
            return (Array(rule), kind)
        }
        guard !rule.contains(0x2A), let name = CookieDomain.canonical(rule) else { return nil }
        return (Array(name.utf8), kind)
    }
}

/// The domains below which anybody can register names, such as `com` and `co.uk`, for which no cookie is taken.
///
/// Compact: the names lie in one sorted block of bytes, about 200 KB for the whole list of 10,000 rules.
///
/// - Source: https://publicsuffix.org/list/ (its format and its algorithm).
public struct PublicSuffixes: Sendable {
    /// What the rules say about a name, as bits.
    private struct Kind: OptionSet {
        let rawValue: UInt8
        /// The name is a public suffix.
        static let suffix = Kind(rawValue: 1)
        /// Every name directly below it is one.
        static let wildcard = Kind(rawValue: 2)
        /// It is none, in spite of a wildcard.
        static let exception = Kind(rawValue: 4)
    }

    /// The longest list that is read, in bytes; the real one has a third of a megabyte.
    private static let longest = 1 << 26

    private var names: [UInt8] = []
    /// Where each name ends; it begins where the one before it ends.
    private var ends: [UInt32] = []
    private var kinds: [Kind] = []

    /// Creates an empty list: only a domain of a single label is a public suffix.
    public init() {}

    /// Reads the text of a public suffix list; lines that are no rules are passed over.
    public init(_ text: String) { self.init(bytes: Array(text.utf8)) }

    /// Reads the bytes of a public suffix list; lines that are no rules are passed over.
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

    /// The number of names that rules are about.
    public var count: Int { self.kinds.count }

    /// Whether there is no rule but that of the single label.
    public var isEmpty: Bool { self.kinds.isEmpty }

    /// Whether anybody can register names below this domain, which stands in ASCII and is no address.
    ///
    /// Its case and a dot at its end do not matter.
    public func isPublicSuffix(_ domain: String) -> Bool {
        var name = domain.utf8.map(ASCII.lowercase)[...]
        if name.last == 0x2E { name.removeLast() }
        guard let dot = name.firstIndex(of: 0x2E) else { return true }
        let kind = self.kind(name)
        if kind.contains(.exception) { return false }
        return kind.contains(.suffix) || self.kind(name[(dot + 1)...]).contains(.wildcard)
    }

    /// What the rules say about a name, found by halving.
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

    /// Whether a byte stands for itself in a name in lower case.
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
        // A star elsewhere is in no list; the rule `*` alone holds without being written.
        if rule.allSatisfy(Self.isPlain), rule.first != 0x2E, HostName.isRegisteredName(rule) {
            return (Array(rule), kind)
        }
        guard !rule.contains(0x2A), let name = CookieDomain.canonical(rule) else { return nil }
        return (Array(name.utf8), kind)
    }
}

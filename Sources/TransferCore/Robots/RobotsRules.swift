// SPDX-License-Identifier: Apache-2.0
/// The rules of a `robots.txt` for one crawler.
///
/// Pure value: any bytes are accepted, and lines that cannot be understood are ignored.
///
/// - Source: RFC 9309 §2.2.
package struct RobotsRules: Hashable, Sendable {
    /// The size up to which a file is read, in bytes (RFC 9309 §2.5).
    package static let maximumSize = 500 * 1024
    /// The number of comparisons after which a decision is abandoned, so that a hostile file takes no more time.
    private static let maximumSteps = 2_000_000

    private struct Rule: Hashable, Sendable {
        var pattern: [UInt8]
        var allows: Bool
    }

    private var rules: [Rule] = []
    /// The interval between two requests that the file asks for, in nanoseconds; 0 if it does not.
    package private(set) var crawlDelay: Int64 = 0

    /// The rules that permit everything: those of a file that does not exist (RFC 9309 §2.3.1.3).
    package static let allowingAll = RobotsRules()
    /// The rules that permit nothing: those of a file that the server fails to provide (RFC 9309 §2.3.1.4).
    package static let denyingAll: RobotsRules = {
        var rules = RobotsRules()
        rules.rules = [Rule(pattern: [0x2F], allows: false)]
        return rules
    }()

    private init() {}

    /// Parses a file.
    ///
    /// - Parameters:
    ///   - bytes: The file; only the first ``maximumSize`` bytes count.
    ///   - agent: The crawler's User-Agent field, of which the first product's name counts.
    package init(_ bytes: [UInt8], for agent: String) {
        var groups = RobotsGroups(product: RobotsGroups.product(agent.utf8))
        var text = bytes.prefix(Self.maximumSize)
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        for line in text.split(whereSeparator: { $0 == Byte.lf || $0 == Byte.cr }) { groups.take(line) }
        let group = groups.chosen
        self.rules = group.rules.map { Rule(pattern: $0.pattern, allows: $0.allows) }
        self.crawlDelay = group.crawlDelay
        // The longest match decides, and of equal ones that which allows (RFC 9309 §2.2.2).
        self.rules.sort { ($0.pattern.count, $0.allows ? 1 : 0) > ($1.pattern.count, $1.allows ? 1 : 0) }
    }

    /// Whether the crawler may request a URL.
    package func allows(_ url: HTTPURL) -> Bool {
        let path = url.path.isEmpty ? "/" : url.path
        return self.allows(path: url.query.map { "\(path)?\($0)" } ?? path)
    }

    /// Whether the crawler may request a path with its query.
    package func allows(path: String) -> Bool {
        if self.rules.isEmpty || path == "/robots.txt" { return true }
        let path = RobotsPath.normalized(path.utf8)
        var steps = Self.maximumSteps
        for rule in self.rules where RobotsPath.matches(rule.pattern, path, steps: &steps) { return rule.allows }
        return steps > 0
    }
}

/// The groups of a `robots.txt`, as far as they concern one crawler.
struct RobotsGroups {
    /// One group's rules, in order.
    struct Group {
        var rules: [(pattern: [UInt8], allows: Bool)] = []
        var crawlDelay: Int64 = 0
        var exists = false
    }

    private let product: [UInt8]
    private var own = Group()
    private var common = Group()
    /// Whether the current group concerns the crawler by name, or all crawlers.
    private var isOwn = false
    private var isCommon = false
    /// Whether the last line of a group named a crawler, so that another such line extends the group.
    private var isNaming = false

    init(product: [UInt8]) { self.product = product }

    /// The group by name, or that for all crawlers.
    var chosen: Group { self.own.exists ? self.own : self.common }

    /// The name of a product token, in lower case: letters, `_` and `-` (RFC 9309 §2.2.1).
    static func product(_ text: some Sequence<UInt8>) -> [UInt8] {
        text.prefix { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D || $0 == 0x5F }
            .map(ASCII.lowercase)
    }

    mutating func take(_ line: ArraySlice<UInt8>) {
        let line = line.prefix { $0 != 0x23 }
        guard let colon = line.firstIndex(of: 0x3A) else { return }
        let value = Self.trimmed(line[(colon + 1)...])
        switch String(decoding: Self.trimmed(line[..<colon]).map(ASCII.lowercase), as: UTF8.self) {
        case "user-agent": self.name(value)
        case "allow": self.rule(value, allows: true)
        case "disallow": self.rule(value, allows: false)
        case "crawl-delay": self.delay(value)
        default: break
        }
    }

    private mutating func name(_ value: ArraySlice<UInt8>) {
        if !self.isNaming { (self.isOwn, self.isCommon) = (false, false) }
        self.isNaming = true
        if value.first == 0x2A {
            self.isCommon = true
            self.common.exists = true
        } else if !self.product.isEmpty, Self.product(value) == self.product {
            self.isOwn = true
            self.own.exists = true
        }
    }

    private mutating func rule(_ value: ArraySlice<UInt8>, allows: Bool) {
        self.isNaming = false
        // An empty path matches nothing.
        guard value.first == 0x2F || value.first == 0x2A else { return }
        let pattern = RobotsPath.normalizedPattern(value)
        if self.isOwn { self.own.rules.append((pattern, allows)) }
        if self.isCommon { self.common.rules.append((pattern, allows)) }
    }

    private mutating func delay(_ value: ArraySlice<UInt8>) {
        self.isNaming = false
        guard let seconds = Double(String(decoding: value, as: UTF8.self)), seconds > 0, seconds < 1e6 else { return }
        let delay = Int64(seconds * 1e9)
        if self.isOwn { self.own.crawlDelay = max(self.own.crawlDelay, delay) }
        if self.isCommon { self.common.crawlDelay = max(self.common.crawlDelay, delay) }
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop(while: Byte.isBlank)
        while let last = text.last, Byte.isBlank(last) { text.removeLast() }
        return text
    }
}

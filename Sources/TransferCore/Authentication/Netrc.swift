// SPDX-License-Identifier: Apache-2.0
/// The user names and passwords of a netrc file, by host.
///
/// Pure value. A `#` begins a comment where a word of the format is expected, not in a value. Values with spaces are
/// quoted, with the escapes `\"`, `\\`, `\n`, `\r` and `\t`, as in curl. Macros (`macdef`) are skipped.
///
/// - Source: The manual page netrc(5) of GNU inetutils, and https://everything.curl.dev/usingcurl/netrc.html.
package struct Netrc: Sendable, Equatable {
    /// The credentials for a host.
    package struct Entry: Sendable, Equatable {
        /// The host as in URLs: lower case, without brackets; `nil` for every other host.
        package var host: String?
        /// The user name, or `nil`.
        package var login: String?
        /// The password, or `nil`.
        package var password: String?
    }

    /// A problem in a line; it never contains a word of the file.
    package struct Problem: Sendable, Equatable {
        /// The line number, from 1.
        package var line: Int
        /// The problem and how to fix it.
        package var message: String
    }

    /// The entries in their order.
    package private(set) var entries: [Entry] = []
    /// The problems in their order; valid entries are used nevertheless.
    package private(set) var problems: [Problem] = []

    /// The first entry of each host, and all of them by host: a file may have many.
    private var byHost: [String: [Int]] = [:]

    /// Parses a file.
    package init(_ bytes: [UInt8]) {
        var scanner = NetrcScanner(bytes)
        while let word = scanner.next(skippingComments: true) { self.take(word, &scanner) }
        for (index, entry) in self.entries.enumerated() where entry.login != nil || entry.password != nil {
            self.byHost[entry.host ?? "", default: []].append(index)
        }
    }

    /// The entry for a host, the first one in the file.
    ///
    /// - Parameters:
    ///   - host: The host, as ``HTTPURL/host`` returns it.
    ///   - user: The user name that the entry must have, or `nil` for any.
    ///   - includingDefault: Whether the entry for every other host is for it, too.
    /// - Returns: The entry, or `nil`.
    package func entry(for host: String, user: String? = nil, includingDefault: Bool) -> Entry? {
        let host = host.hasSuffix(".") ? String(host.dropLast()) : host
        for name in includingDefault ? [host, ""] : [host] {
            let found = self.byHost[name]?.first { user == nil || self.entries[$0].login == user }
            if let found { return self.entries[found] }
        }
        return nil
    }

    private mutating func take(_ word: NetrcScanner.Word, _ scanner: inout NetrcScanner) {
        switch word.text.lowercased() {
        case "machine":
            guard let name = self.value(of: word, &scanner) else { return }
            guard var host = CookieDomain.canonical(name.text.utf8) else {
                self.note(name, "the name after 'machine' is not a host; write a host without scheme, port and path")
                // The credentials that follow are for no host.
                return self.entries.append(Entry(host: " "))
            }
            if host.hasSuffix(".") { host.removeLast() }
            self.entries.append(Entry(host: host))
        case "default": self.entries.append(Entry(host: nil))
        case "macdef": scanner.skipMacro()
        case "login", "user":
            if let value = self.value(of: word, &scanner) { self.set(\.login, value) }
        case "password", "passwd":
            if let value = self.value(of: word, &scanner) { self.set(\.password, value) }
        case "account": _ = self.value(of: word, &scanner)
        default:
            self.note(word, "a word is not one of the format; quote values that contain spaces")
        }
    }

    private mutating func value(of word: NetrcScanner.Word, _ scanner: inout NetrcScanner) -> NetrcScanner.Word? {
        guard let value = scanner.next(skippingComments: false) else {
            self.note(word, "the value after '\(word.text.lowercased())' is missing")
            return nil
        }
        if value.isUnterminated { self.note(value, "a quotation mark is not closed on its line") }
        return value
    }

    private mutating func set(_ field: WritableKeyPath<Entry, String?>, _ value: NetrcScanner.Word) {
        guard !self.entries.isEmpty else {
            return self.note(value, "a login or password is in front of the first 'machine'; write 'machine' first")
        }
        self.entries[self.entries.count - 1][keyPath: field] = value.text
    }

    private mutating func note(_ word: NetrcScanner.Word, _ message: String) {
        guard self.problems.count < Self.mostProblems else { return }
        self.problems.append(Problem(line: word.line, message: message))
    }

    private static let mostProblems = 20
}

/// Splits a netrc file into words.
private struct NetrcScanner {
    struct Word {
        var text: String
        var line: Int
        var isUnterminated = false
    }

    private let bytes: [UInt8]
    private var index = 0
    private var line = 1

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { self.index = 3 }
    }

    private var byte: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }

    private mutating func advance() {
        if self.byte == 0x0A { self.line += 1 }
        self.index += 1
    }

    private mutating func skipLine() {
        while let byte = self.byte, byte != 0x0A { self.index += 1 }
    }

    mutating func next(skippingComments: Bool) -> Word? {
        while let byte = self.byte {
            if Self.isSpace(byte) {
                self.advance()
            } else if byte == 0x23, skippingComments {
                self.skipLine()
            } else {
                return byte == 0x22 ? self.quoted() : self.plain()
            }
        }
        return nil
    }

    private mutating func plain() -> Word {
        let start = self.index
        while let byte = self.byte, !Self.isSpace(byte) { self.index += 1 }
        return Word(text: String(decoding: self.bytes[start..<self.index], as: UTF8.self), line: self.line)
    }

    private mutating func quoted() -> Word {
        let line = self.line
        self.index += 1
        var text: [UInt8] = []
        while var byte = self.byte, byte != 0x22 {
            guard byte != 0x0A else { break }
            if byte == 0x5C {
                self.index += 1
                guard let escaped = self.byte, escaped != 0x0A else { break }
                byte =
                    switch escaped {
                    case 0x6E: 0x0A
                    case 0x72: 0x0D
                    case 0x74: 0x09
                    default: escaped
                    }
            }
            text.append(byte)
            self.index += 1
        }
        let isTerminated = self.byte == 0x22
        if isTerminated { self.index += 1 }
        return Word(text: String(decoding: text, as: UTF8.self), line: line, isUnterminated: !isTerminated)
    }

    /// Skips a macro: its name, and the lines up to an empty one.
    mutating func skipMacro() {
        self.skipLine()
        while self.byte != nil {
            self.advance()
            let start = self.index
            self.skipLine()
            if self.bytes[start..<self.index].allSatisfy(Self.isSpace) { return }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
/// The names of the files that Martlet keeps next to a download.
///
/// A server that could choose one of these names would write the beginning of another download.
package enum ReservedName {
    /// The suffix of a partial file.
    package static let partial = ".part"
    /// The suffix of a partial file's journal.
    package static let journal = ".part.journal"
    /// The suffix of the name whose partial file is a second one, see ``OlderPartial``.
    package static let newer = ".martlet-new"
    /// The suffix of a file that is set aside.
    package static let bad = ".martlet-bad"
    /// The suffix of a name that was reserved.
    package static let replacement = ".download"

    private static let own = ".martlet-"

    /// Whether an untrusted name has one of the suffixes, in any letter case.
    package static func isReserved(_ name: Substring) -> Bool {
        let bytes = name.utf8
        guard let last = bytes.last else { return false }
        switch ASCII.lowercase(last) {
        case UInt8(ascii: "t"): return self.ends(bytes, self.partial)
        case UInt8(ascii: "l"): return self.ends(bytes, self.journal)
        case UInt8(ascii: "w"): return self.ends(bytes, self.newer)
        case UInt8(ascii: "d"): return self.ends(bytes, self.bad)
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            // `NAME.martlet-bad.1`.
            guard let dot = name.lastIndex(of: ".") else { return false }
            let stem = name[..<dot]
            return stem.utf8.count + 5 > bytes.count && self.ends(stem.utf8, self.bad)
        default: return false
        }
    }

    /// The name to use instead of a reserved one.
    package static func replacing(_ name: String) -> String { name + self.replacement }

    /// The reserved name that a name replaces, or `nil`.
    package static func replaced(by name: String) -> Substring? {
        guard name.utf8.last == self.replacement.utf8.last, name.hasSuffix(self.replacement) else { return nil }
        let reserved = name.dropLast(self.replacement.count)
        return self.isReserved(reserved) ? reserved : nil
    }

    /// The path of the file whose partial file or journal a path would be, or `nil`.
    package static func owner(of path: String) -> Substring? {
        for suffix in [self.partial, self.journal] where path.utf8.last == suffix.utf8.last && path.hasSuffix(suffix) {
            let owner = path.dropLast(suffix.count)
            return owner.isEmpty || owner.hasSuffix("/") ? nil : owner
        }
        return nil
    }

    private static func ends(_ bytes: Substring.UTF8View, _ suffix: String) -> Bool {
        bytes.count > suffix.utf8.count
            && zip(bytes.reversed(), suffix.utf8.reversed()).allSatisfy { ASCII.lowercase($0) == $1 }
    }
}

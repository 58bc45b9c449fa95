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

    /// Whether an untrusted name has one of the suffixes, in any letter case.
    package static func isReserved(_ name: Substring) -> Bool {
        self.withBytes(of: name.utf8) { bytes in
            guard let last = bytes.last else { return false }
            switch ASCII.lowercase(last) {
            case UInt8(ascii: "t"): return self.ends(bytes, with: self.partial)
            case UInt8(ascii: "l"): return self.ends(bytes, with: self.journal)
            case UInt8(ascii: "w"): return self.ends(bytes, with: self.newer)
            case UInt8(ascii: "d"): return self.ends(bytes, with: self.bad)
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                // `NAME.martlet-bad.1`.
                guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot + 5 > bytes.count else { return false }
                return self.ends(bytes.part(0..<dot), with: self.bad)
            default: return false
            }
        }
    }

    /// The name to use instead of a reserved one.
    package static func replacing(_ name: String) -> String { name + self.replacement }

    /// The reserved name that a name replaces, or `nil`.
    package static func replaced(by name: String) -> Substring? {
        let last = self.withBytes(of: name[...].utf8) { $0.last }
        guard last == UInt8(ascii: "d"), name.hasSuffix(self.replacement) else { return nil }
        let reserved = name.dropLast(self.replacement.count)
        return self.isReserved(reserved) ? reserved : nil
    }

    /// The path of the file whose partial file or journal a path would be, or `nil`.
    package static func owner(of path: String) -> Substring? {
        let suffix: String? = self.withBytes(of: path[...].utf8) { bytes in
            switch bytes.last {
            case UInt8(ascii: "t"): self.partial
            case UInt8(ascii: "l"): self.journal
            default: nil
            }
        }
        guard let suffix, path.hasSuffix(suffix) else { return nil }
        let owner = path.dropLast(suffix.count)
        return owner.isEmpty || owner.hasSuffix("/") ? nil : owner
    }

    /// Calls a function with the bytes of a text, which are copied only if it is not contiguous.
    private static func withBytes<Result>(
        of text: Substring.UTF8View,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        text.withContiguousStorageIfAvailable(body) ?? Array(text).withUnsafeBufferPointer(body)
    }

    private static func ends(_ bytes: UnsafeBufferPointer<UInt8>, with suffix: String) -> Bool {
        bytes.count > suffix.utf8.count
            && zip(bytes.suffix(suffix.utf8.count), suffix.utf8).allSatisfy { ASCII.lowercase($0) == $1 }
    }
}

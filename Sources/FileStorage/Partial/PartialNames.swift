// SPDX-License-Identifier: Apache-2.0
import Files
import TransferCore

/// The names of the files next to a final name.
struct PartialNames {
    let part: String
    /// `NAME.part.journal`.
    let journal: String

    /// The maximum length of a name on common filesystems, in bytes.
    static let longest = 255

    /// The number of bytes of the longest suffix, `.part.journal`.
    private static let room = 13

    init(_ name: String) {
        self.part = Self.suffixed(name, ReservedName.partial, room: Self.room)
        self.journal = self.part + ".journal"
    }

    /// Whether a name is too long for the suffixes, so that those of its partial file and journal do not begin with it.
    static func isShortened(_ name: String) -> Bool { name.utf8.count + self.room > self.longest }

    /// `NAME.martlet-bad`, or with a number if that is taken.
    static func bad(_ name: String, number: Int) -> String {
        Self.suffixed(name, number == 0 ? ReservedName.bad : "\(ReservedName.bad).\(number)", room: 20)
    }

    /// Appends a suffix to a name.
    ///
    /// A name that is too long is truncated; a checksum of the complete name keeps it distinct from others.
    private static func suffixed(_ name: String, _ suffix: String, room: Int) -> String {
        guard name.utf8.count + room > Self.longest else { return name + suffix }
        let hash = String(CRC32C.checksum(Array(name.utf8)), radix: 16)
        var cut = name
        while cut.utf8.count + room + 9 > Self.longest, !cut.isEmpty { cut.removeLast() }
        return cut + "~" + hash + suffix
    }
}

/// The names beside a final name.
struct PartialNames {
    /// `NAME.part`.
    let part: String
    /// `NAME.part.journal`.
    let journal: String

    /// The longest name in bytes that every common filesystem takes.
    static let longest = 255

    init(_ name: String) {
        self.part = Self.suffixed(name, ".part", room: 13)
        self.journal = self.part + ".journal"
    }

    /// `NAME.martlet-bad`, or with a number where that is taken.
    static func bad(_ name: String, number: Int) -> String {
        Self.suffixed(name, number == 0 ? ".martlet-bad" : ".martlet-bad.\(number)", room: 20)
    }

    /// A name with a suffix.
    ///
    /// One too long is cut, and a checksum of the whole keeps it apart from others.
    private static func suffixed(_ name: String, _ suffix: String, room: Int) -> String {
        guard name.utf8.count + room > Self.longest else { return name + suffix }
        let hash = String(CRC32C.checksum(name.utf8), radix: 16)
        var cut = name
        while cut.utf8.count + room + 9 > Self.longest, !cut.isEmpty { cut.removeLast() }
        return cut + "~" + hash + suffix
    }
}

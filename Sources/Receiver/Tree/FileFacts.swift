internal import Glibc
internal import TransferCore

/// What fstat(2) says of a plain file.
struct FileFacts: Sendable, Hashable {
    /// In bytes.
    var length: Int64
    /// When its content was changed, seconds since 1970.
    var modified: Int64
    /// The strong entity tag, with its quotes.
    var entityTag: String

    init(length: Int64, modified: Int64, entityTag: String) {
        self.length = length
        self.modified = modified
        self.entityTag = entityTag
    }

    /// Makes an entity tag of everything that changes with a file's bytes.
    ///
    /// The size, the time of its last change in nanoseconds, the time of the inode's (which no program can set back), and
    /// the inode's number: a file that another takes the place of by rename(2) has another one.
    init(_ status: stat) {
        self.length = Int64(status.st_size)
        self.modified = Int64(status.st_mtim.tv_sec)
        var tag: [UInt8] = [0x22]
        tag.reserveCapacity(64)
        Self.hexadecimal(UInt64(bitPattern: self.length), to: &tag)
        tag.append(0x2D)
        Self.hexadecimal(Self.nanoseconds(status.st_mtim), to: &tag)
        tag.append(0x2D)
        Self.hexadecimal(Self.nanoseconds(status.st_ctim), to: &tag)
        tag.append(0x2D)
        Self.hexadecimal(UInt64(status.st_ino), to: &tag)
        tag.append(0x22)
        self.entityTag = String(decoding: tag, as: UTF8.self)
    }

    /// The state that conditions are about.
    var state: Conditions.State { Conditions.State(entityTag: self.entityTag, modified: self.modified) }

    private static func nanoseconds(_ time: timespec) -> UInt64 {
        UInt64(bitPattern: Int64(time.tv_sec)) &* 1_000_000_000 &+ UInt64(bitPattern: Int64(time.tv_nsec))
    }

    private static func hexadecimal(_ value: UInt64, to bytes: inout [UInt8]) {
        var shift = 60
        while shift > 0, value >> UInt64(shift) & 15 == 0 { shift -= 4 }
        while shift >= 0 {
            let digit = UInt8(value >> UInt64(shift) & 15)
            bytes.append(digit < 10 ? 0x30 + digit : 0x61 + digit - 10)
            shift -= 4
        }
    }
}

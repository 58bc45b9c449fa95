// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Platform
internal import TransferCore

/// The metadata of a regular file, from fstat(2).
struct FileFacts: Sendable, Hashable {
    /// The length in bytes.
    var length: Int64
    /// The modification time of the content, in seconds since 1970.
    var modified: Int64
    /// The strong entity tag, with its quotes.
    var entityTag: String

    init(length: Int64, modified: Int64, entityTag: String) {
        self.length = length
        self.modified = modified
        self.entityTag = entityTag
    }

    /// Creates the metadata, with an entity tag of all attributes that change with the file's content.
    ///
    /// These are the size, the modification time and the status change time in nanoseconds (no program can set the
    /// latter back), and the inode number, which differs after a rename(2) of another file to the name.
    init(_ status: stat) {
        self.length = Int64(status.st_size)
        self.modified = Int64(status.modificationTime.tv_sec)
        var tag: [UInt8] = [0x22]
        tag.reserveCapacity(64)
        Self.hexadecimal(UInt64(bitPattern: self.length), to: &tag)
        tag.append(0x2D)
        Self.hexadecimal(Self.nanoseconds(status.modificationTime), to: &tag)
        tag.append(0x2D)
        Self.hexadecimal(Self.nanoseconds(status.statusChangeTime), to: &tag)
        tag.append(0x2D)
        Self.hexadecimal(UInt64(status.st_ino), to: &tag)
        tag.append(0x22)
        self.entityTag = String(decoding: tag, as: UTF8.self)
    }

    /// The state for the evaluation of conditional requests.
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

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
        let size = UInt64(bitPattern: self.length)
        let modified = Self.nanoseconds(status.modificationTime)
        let changed = Self.nanoseconds(status.statusChangeTime)
        let inode = UInt64(status.st_ino)
        self.entityTag = String(unsafeUninitializedCapacity: 2 + 4 * 16 + 3) { tag in
            // Bounds: two quotes, four numbers of at most 16 digits, and three separators.
            var end = 0
            func put(_ byte: UInt8) {
                tag[end] = byte
                end += 1
            }
            func put(_ number: UInt64, then separator: UInt8) {
                var shift = UInt64(60 - min(number.leadingZeroBitCount, 60) & ~3)
                while true {
                    let digit = UInt8(truncatingIfNeeded: number &>> shift & 15)
                    put(digit < 10 ? 0x30 + digit : 0x61 - 10 + digit)
                    if shift == 0 { break }
                    shift -= 4
                }
                put(separator)
            }
            put(0x22)
            put(size, then: 0x2D)
            put(modified, then: 0x2D)
            put(changed, then: 0x2D)
            put(inode, then: 0x22)
            return end
        }
    }

    /// The state for the evaluation of conditional requests.
    var state: Conditions.State { Conditions.State(entityTag: self.entityTag, modified: self.modified) }

    private static func nanoseconds(_ time: timespec) -> UInt64 {
        UInt64(bitPattern: Int64(time.tv_sec)) &* 1_000_000_000 &+ UInt64(bitPattern: Int64(time.tv_nsec))
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Makes a zip archive while it is sent: entries in, bytes out.
///
/// Pure value. Content is stored, not compressed. The caller sends the bytes in order, and keeps the record of each entry
/// for the central directory, which follows the last entry.
///
/// An entry whose content is known at once has its checksum and size in front of it. That of a longer one follows its
/// content in a data descriptor. Numbers that do not fit 32 bits are written in the zip64 format.
///
/// - Source: PKWARE's APPNOTE.TXT 6.3.10.
struct ZipWriter: Sendable {
    /// A file or directory.
    struct Entry: Sendable, Hashable {
        /// The path with slashes; that of a directory ends with one.
        var name: String
        /// The modification time, in seconds since 1970.
        var modified: Int64
        /// The permissions and the type, as in `st_mode`.
        var mode: UInt32 = 0o100644
    }

    private struct Open {
        var entry: Entry
        var begin: UInt64
        var expected: UInt64
        var size: UInt64 = 0
        var checksum = CRC32()
    }

    /// The number of bytes so far, without the central directory.
    private(set) var offset: UInt64 = 0
    /// The number of entries.
    private(set) var count: UInt64 = 0
    /// The number of bytes of the central directory.
    private(set) var directorySize: UInt64 = 0
    private var open: Open?

    private static let limit: UInt64 = 0xFFFF_FFFF

    init() {}

    /// Adds an entry with all of its content.
    ///
    /// - Returns: The bytes in front of the content, and the entry's record.
    mutating func add(_ entry: Entry, _ content: UnsafeRawBufferPointer) -> (head: [UInt8], record: [UInt8]) {
        var checksum = CRC32()
        checksum.update(content)
        let size = UInt64(content.count)
        let begin = self.offset
        let head = Self.head(entry, size: size, checksum: checksum.value, hasDescriptor: false)
        self.advance(head.count)
        self.offset = self.offset.adding(clamping: size)
        return (head, self.record(entry, begin: begin, size: size, checksum: checksum.value, hasDescriptor: false))
    }

    /// Begins an entry whose content follows by ``append(_:)``.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - size: The number of bytes that are expected; the format of the numbers depends on it.
    /// - Returns: The bytes to send.
    mutating func begin(_ entry: Entry, expecting size: Int64) -> [UInt8] {
        let expected = UInt64(max(0, size))
        self.open = Open(entry: entry, begin: self.offset, expected: expected)
        let head = Self.head(entry, size: expected, checksum: 0, hasDescriptor: true)
        self.advance(head.count)
        return head
    }

    /// Adds content of the entry that was begun; the caller sends it.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        self.open?.checksum.update(bytes)
        self.skip(bytes.count)
    }

    /// Adds unknown content, to compute the size of an archive.
    mutating func skip(_ count: Int) {
        self.open?.size += UInt64(count)
        self.advance(count)
    }

    /// Counts bytes of the archive; sparse files can have any size, and their sum is only compared with limits.
    private mutating func advance(_ count: Int) { self.offset = self.offset.adding(clamping: UInt64(count)) }

    /// Removes the bytes of an unsent descriptor, to compute the size of an archive.
    mutating func remove(_ count: Int) { self.offset -= UInt64(count) }

    /// Ends the entry that was begun.
    ///
    /// - Returns: The bytes to send, and the entry's record; both are empty if there is no entry, or if it got another
    ///   number of bytes than expected.
    mutating func end() -> (descriptor: [UInt8], record: [UInt8]) {
        guard let open = self.open, open.size == open.expected else { return ([], []) }
        self.open = nil
        var bytes = ZipBytes()
        bytes.append(four: 0x0807_4B50)
        bytes.append(four: open.checksum.value)
        for _ in 0..<2 {
            if open.size >= Self.limit { bytes.append(eight: open.size) } else { bytes.append(four: UInt32(open.size)) }
        }
        self.advance(bytes.bytes.count)
        let record = self.record(
            open.entry,
            begin: open.begin,
            size: open.size,
            checksum: open.checksum.value,
            hasDescriptor: true
        )
        return (bytes.bytes, record)
    }

    /// The bytes after the central directory, which end the archive.
    func finish() -> [UInt8] {
        var bytes = ZipBytes()
        if self.count >= 0xFFFF || self.offset >= Self.limit || self.directorySize >= Self.limit {
            let end = self.offset.adding(clamping: self.directorySize)
            bytes.append(four: 0x0606_4B50)
            bytes.append(eight: 44)
            bytes.append(two: Self.madeBy)
            bytes.append(two: 45)
            bytes.append(four: 0)
            bytes.append(four: 0)
            bytes.append(eight: self.count)
            bytes.append(eight: self.count)
            bytes.append(eight: self.directorySize)
            bytes.append(eight: self.offset)
            bytes.append(four: 0x0706_4B50)
            bytes.append(four: 0)
            bytes.append(eight: end)
            bytes.append(four: 1)
        }
        bytes.append(four: 0x0605_4B50)
        bytes.append(two: 0)
        bytes.append(two: 0)
        for _ in 0..<2 { bytes.append(two: UInt16(min(self.count, 0xFFFF))) }
        bytes.append(four: UInt32(min(self.directorySize, Self.limit)))
        bytes.append(four: UInt32(min(self.offset, Self.limit)))
        bytes.append(two: 0)
        return bytes.bytes
    }

    // MARK: Headers

    /// Version 4.5 on Unix.
    private static let madeBy: UInt16 = 3 << 8 | 45
    /// Bit 11 for names in UTF-8, and bit 3 if a data descriptor follows the content.
    private static func flags(_ hasDescriptor: Bool) -> UInt16 { 1 << 11 | (hasDescriptor ? 1 << 3 : 0) }

    /// The local file header.
    private static func head(_ entry: Entry, size: UInt64, checksum: UInt32, hasDescriptor: Bool) -> [UInt8] {
        let isLarge = size >= self.limit
        var extra = ZipBytes()
        if isLarge {
            // The sizes are in the descriptor, in eight bytes each because this field is present.
            extra.append(two: 1)
            extra.append(two: 16)
            extra.append(eight: 0)
            extra.append(eight: 0)
        }
        extra.append(time: entry.modified)
        var bytes = ZipBytes()
        bytes.append(four: 0x0403_4B50)
        bytes.append(two: isLarge ? 45 : 20)
        bytes.append(two: self.flags(hasDescriptor))
        bytes.append(two: 0)
        bytes.append(dosTime: entry.modified)
        bytes.append(four: checksum)
        for _ in 0..<2 { bytes.append(four: isLarge ? UInt32(self.limit) : hasDescriptor ? 0 : UInt32(size)) }
        bytes.append(two: UInt16(clamping: entry.name.utf8.count))
        bytes.append(two: UInt16(extra.bytes.count))
        bytes.append(name: entry.name)
        bytes.append(extra.bytes)
        return bytes.bytes
    }

    /// The header in the central directory.
    private mutating func record(
        _ entry: Entry,
        begin: UInt64,
        size: UInt64,
        checksum: UInt32,
        hasDescriptor: Bool
    ) -> [UInt8] {
        let isLarge = size >= Self.limit
        let isFar = begin >= Self.limit
        var extra = ZipBytes()
        if isLarge || isFar {
            extra.append(two: 1)
            extra.append(two: (isLarge ? 16 : 0) + (isFar ? 8 : 0))
            if isLarge {
                extra.append(eight: size)
                extra.append(eight: size)
            }
            if isFar { extra.append(eight: begin) }
        }
        extra.append(time: entry.modified)
        var bytes = ZipBytes()
        bytes.append(four: 0x0201_4B50)
        bytes.append(two: Self.madeBy)
        bytes.append(two: isLarge || isFar ? 45 : 20)
        bytes.append(two: Self.flags(hasDescriptor))
        bytes.append(two: 0)
        bytes.append(dosTime: entry.modified)
        bytes.append(four: checksum)
        for _ in 0..<2 { bytes.append(four: UInt32(min(size, Self.limit))) }
        bytes.append(two: UInt16(clamping: entry.name.utf8.count))
        bytes.append(two: UInt16(extra.bytes.count))
        // Comment, disk number and internal attributes.
        for _ in 0..<3 { bytes.append(two: 0) }
        // The mode of Unix, and the directory attribute of MS-DOS.
        bytes.append(four: entry.mode << 16 | (entry.name.hasSuffix("/") ? 0x10 : 0))
        bytes.append(four: UInt32(min(begin, Self.limit)))
        bytes.append(name: entry.name)
        bytes.append(extra.bytes)
        self.count += 1
        self.directorySize += UInt64(bytes.bytes.count)
        return bytes.bytes
    }
}

/// Bytes of a zip archive; numbers are little-endian.
private struct ZipBytes {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ more: [UInt8]) { self.bytes += more }

    mutating func append(two value: UInt16) { withUnsafeBytes(of: value.littleEndian) { self.bytes += $0 } }

    mutating func append(four value: UInt32) { withUnsafeBytes(of: value.littleEndian) { self.bytes += $0 } }

    mutating func append(eight value: UInt64) { withUnsafeBytes(of: value.littleEndian) { self.bytes += $0 } }

    /// Appends as many bytes of a name as its length can state.
    mutating func append(name: String) { self.bytes += name.utf8.prefix(Int(UInt16.max)) }

    /// Appends the extended timestamp, in UTC, if it fits 32 bits.
    mutating func append(time: Int64) {
        guard let seconds = Int32(exactly: time) else { return }
        self.append(two: 0x5455)
        self.append(two: 5)
        self.bytes.append(1)
        self.append(four: UInt32(bitPattern: seconds))
    }

    /// Appends the time of MS-DOS, in UTC; times before 1980 and after 2107 are replaced by the nearest one.
    mutating func append(dosTime seconds: Int64) {
        let clamped = min(max(seconds, 315_532_800), 4_354_819_198)
        let (days, rest) = clamped.quotientAndRemainder(dividingBy: 86400)
        let (year, month, day) = Self.date(days)
        self.append(two: UInt16((rest / 3600) << 11 | (rest % 3600 / 60) << 5 | (rest % 60) / 2))
        self.append(two: UInt16((year - 1980) << 9 | month << 5 | day))
    }

    /// The date in the Gregorian calendar, for non-negative days since 1970-01-01.
    ///
    /// - Source: Hinnant, chrono-compatible low-level date algorithms, `civil_from_days`.
    private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let (era, dayOfEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }
}

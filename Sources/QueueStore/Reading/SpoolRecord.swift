// SPDX-License-Identifier: Apache-2.0
internal import Control

/// A row in a list's file: the record's length, a bit for each column that is not NULL, then these columns.
///
/// The columns are those of ``TransferColumns/names``. Their content is only parsed when the record is read, so that a
/// million rows are copied at the speed of the disk.
struct SpoolRecord {
    /// The number of bytes before the columns: the record's length and the bits.
    static let headLength = 8

    private enum Kind { case integer, real, text }

    private static let kinds: [Kind] = [
        .integer, .integer, .integer, .integer, .integer, .integer, .real, .real, .text, .text, .text, .text, .text,
        .text,
    ]

    private var numbers: [Int64?] = []
    private var texts: [String?] = []

    static func append(_ row: StatementRow, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: [0, 0, 0, 0, 0, 0, 0, 0])
        var bits: UInt32 = 0
        for (column, kind) in Self.kinds.enumerated() {
            switch kind {
            case .integer:
                guard let value = row.integer(Int32(column)) else { continue }
                Self.append(UInt64(bitPattern: value), to: &bytes)
            case .real:
                guard let value = row.real(Int32(column)) else { continue }
                Self.append(value.bitPattern, to: &bytes)
            case .text:
                let isThere = row.withBytes(Int32(column)) { text in
                    Self.append(UInt32(text.count), to: &bytes)
                    bytes.append(contentsOf: text)
                }
                guard isThere else { continue }
            }
            bits |= 1 << UInt32(column)
        }
        Self.set(UInt32(bytes.count - start), in: &bytes, at: start)
        Self.set(bits, in: &bytes, at: start + 4)
    }

    /// Returns the length of the first record, or `nil` if its head is incomplete.
    static func length(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= Self.headLength else { return nil }
        return Int(Self.integer(UInt32.self, bytes, bytes.startIndex))
    }

    /// Removes and returns the first record, or returns `nil` if it is incomplete.
    static func next(_ bytes: inout ArraySlice<UInt8>) -> SpoolRecord? {
        guard let length = Self.length(bytes), length >= Self.headLength, bytes.count >= length else { return nil }
        let end = bytes.startIndex + length
        let bits = Self.integer(UInt32.self, bytes, bytes.startIndex + 4)
        var at = bytes.startIndex + Self.headLength
        var record = SpoolRecord()
        record.numbers.reserveCapacity(8)
        record.texts.reserveCapacity(6)
        for (column, kind) in Self.kinds.enumerated() {
            guard bits >> UInt32(column) & 1 == 1 else {
                if kind == .text { record.texts.append(nil) } else { record.numbers.append(nil) }
                continue
            }
            if kind == .text {
                guard at + 4 <= end else { return nil }
                let count = Int(Self.integer(UInt32.self, bytes, at))
                guard at + 4 + count <= end else { return nil }
                record.texts.append(String(decoding: bytes[(at + 4)..<(at + 4 + count)], as: UTF8.self))
                at += 4 + count
            } else {
                guard at + 8 <= end else { return nil }
                record.numbers.append(Int64(bitPattern: Self.integer(UInt64.self, bytes, at)))
                at += 8
            }
        }
        bytes = bytes[end...]
        return record
    }

    /// Parses the transfer.
    func transfer(_ names: [Int64: String], _ path: String) throws(QueueStoreError) -> StoredTransfer {
        let queue = self.numbers[1] ?? 0
        let session = queue == 0 ? nil : names[queue]
        guard queue == 0 || session != nil else { throw .damaged(path, "a transfer's session is missing") }
        return try TransferColumns.read(self, session: session, path: path)
    }

    private static func append<T: FixedWidthInteger>(_ value: T, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private static func set(_ value: UInt32, in bytes: inout [UInt8], at index: Int) {
        withUnsafeBytes(of: value.littleEndian) { for (place, byte) in $0.enumerated() { bytes[index + place] = byte } }
    }

    private static func integer<T: FixedWidthInteger>(_ type: T.Type, _ bytes: ArraySlice<UInt8>, _ index: Int) -> T {
        var value: T = 0
        for place in 0..<(T.bitWidth / 8) { value |= T(truncatingIfNeeded: bytes[index + place]) << T(8 * place) }
        return value
    }
}

extension SpoolRecord: TransferRow {
    func integer(_ column: Int32) -> Int64? { self.numbers[Int(column)] }
    func real(_ column: Int32) -> Double? {
        self.numbers[Int(column)].map { Double(bitPattern: UInt64(bitPattern: $0)) }
    }
    func text(_ column: Int32) -> String? { self.texts[Int(column) - 8] }
}

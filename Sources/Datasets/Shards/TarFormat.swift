// SPDX-License-Identifier: Apache-2.0
/// Writes the parts of a tar archive around its files' contents.
///
/// Pure functions. Headers are of the ustar format, preceded by a pax extended header if a name or a size has no room in
/// them. The metadata is always the same (mode 0644, owner 0, modified at ``modified``), so that equal samples yield
/// equal archives.
///
/// - Source: POSIX.1-2024, pax(1): "ustar Interchange Format" and "pax Extended Header".
enum TarFormat {
    /// The size of a block in bytes.
    static let blockSize = 512

    /// The two zero blocks that end an archive.
    static let end = [UInt8](repeating: 0, count: 2 * blockSize)

    /// The modification time of all members: 1980-01-01 00:00:00 UTC.
    ///
    /// The first time that zip archives can store; GNU tar warns about times before 1970, and some tools about 1970.
    static let modified: Int64 = 315_532_800

    /// The largest size that the eleven octal digits of a ustar header can store.
    static let largestSize: Int64 = 0o777_7777_7777

    /// The number of zero bytes that follow a content of `size` bytes.
    static func padding(after size: Int64) -> Int {
        let rest = Int(size % Int64(self.blockSize))
        return rest == 0 ? 0 : self.blockSize - rest
    }

    /// The number of bytes of a member's headers.
    static func headerSize(of name: String, size: Int64) -> Int64 {
        let records = self.records(of: name, size: size)
        guard !records.isEmpty else { return Int64(self.blockSize) }
        return Int64(2 * self.blockSize + records.count + self.padding(after: Int64(records.count)))
    }

    /// The number of bytes of a member: headers, content and padding.
    static func memberSize(of name: String, size: Int64) -> Int64 {
        self.headerSize(of: name, size: size) + size + Int64(self.padding(after: size))
    }

    /// Appends the headers of a regular file.
    ///
    /// - Parameters:
    ///   - name: The member's path, relative and without a NUL.
    ///   - size: The size of its content in bytes, which follows the headers and is padded.
    ///   - bytes: The archive.
    static func appendHeader(of name: String, size: Int64, to bytes: inout [UInt8]) {
        let records = self.records(of: name, size: size)
        if !records.isEmpty {
            self.appendBlock("PaxHeaders/member", "", size: Int64(records.count), type: 0x78, to: &bytes)
            bytes.append(contentsOf: records)
            self.appendPadding(after: Int64(records.count), to: &bytes)
        }
        // Readers without pax see a truncated name with `?` for other than ASCII.
        let (prefix, last) = self.split(name) ?? ("", self.truncated(name))
        self.appendBlock(last, prefix, size: size > self.largestSize ? 0 : size, type: 0x30, to: &bytes)
    }

    /// Appends the zero bytes that follow a content of `size` bytes.
    static func appendPadding(after size: Int64, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: repeatElement(0, count: self.padding(after: size)))
    }

    // MARK: Names

    /// A name's prefix and last part for a ustar header, or `nil` if it has no room there or is not ASCII.
    private static func split(_ name: String) -> (prefix: String, last: String)? {
        let utf8 = Array(name.utf8)
        guard utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        guard utf8.count > 100 else { return ("", name) }
        // At the last slash that leaves at most 155 bytes before it, so that the rest is as short as possible.
        guard utf8.count <= 256, let slash = utf8.prefix(156).lastIndex(of: 0x2F), slash > 0,
            (1...100).contains(utf8.count - slash - 1)
        else { return nil }
        return (
            String(decoding: utf8[..<slash], as: UTF8.self), String(decoding: utf8[(slash + 1)...], as: UTF8.self)
        )
    }

    private static func truncated(_ name: String) -> String {
        String(decoding: name.utf8.prefix(100).map { $0 < 0x80 ? $0 : 0x3F }, as: UTF8.self)
    }

    // MARK: Records

    /// The records of the pax extended header; empty if none is needed.
    private static func records(of name: String, size: Int64) -> [UInt8] {
        var records: [UInt8] = []
        if self.split(name) == nil { self.append("path", name, to: &records) }
        if size > self.largestSize { self.append("size", String(size), to: &records) }
        return records
    }

    /// Appends `LENGTH KEY=VALUE`, where the length includes its own digits.
    private static func append(_ key: String, _ value: String, to records: inout [UInt8]) {
        let rest = " \(key)=\(value)\n"
        var length = rest.utf8.count
        while String(length).utf8.count + rest.utf8.count != length {
            length = String(length).utf8.count + rest.utf8.count
        }
        records.append(contentsOf: "\(length)\(rest)".utf8)
    }

    // MARK: Blocks

    private static func appendBlock(
        _ name: String,
        _ prefix: String,
        size: Int64,
        type: UInt8,
        to bytes: inout [UInt8]
    ) {
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: self.blockSize))
        self.put(name, at: start, in: &bytes)
        self.put(0o644, digits: 7, at: start + 100, in: &bytes)
        self.put(0, digits: 7, at: start + 108, in: &bytes)
        self.put(0, digits: 7, at: start + 116, in: &bytes)
        self.put(size, digits: 11, at: start + 124, in: &bytes)
        self.put(self.modified, digits: 11, at: start + 136, in: &bytes)
        bytes[start + 156] = type
        self.put("ustar", at: start + 257, in: &bytes)
        self.put("00", at: start + 263, in: &bytes)
        self.put(prefix, at: start + 345, in: &bytes)
        // The sum is computed with spaces in its own field.
        for index in 148..<156 { bytes[start + index] = 0x20 }
        let sum = bytes[start..<(start + self.blockSize)].reduce(Int64(0)) { $0 + Int64($1) }
        self.put(sum, digits: 6, at: start + 148, in: &bytes)
        bytes[start + 154] = 0
    }

    private static func put(_ text: String, at start: Int, in bytes: inout [UInt8]) {
        for (index, byte) in text.utf8.enumerated() { bytes[start + index] = byte }
    }

    private static func put(_ number: Int64, digits: Int, at start: Int, in bytes: inout [UInt8]) {
        var rest = number
        for index in (0..<digits).reversed() {
            bytes[start + index] = 0x30 + UInt8(truncatingIfNeeded: rest & 7)
            rest >>= 3
        }
    }
}

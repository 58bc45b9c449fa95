// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import TransferCore

/// The format of the file of a stored response: a header of 192 bytes, the field lines, the body.
///
/// | offset | content |
/// |---|---|
/// | 0 | `MLTCACHE` |
/// | 8 | the version, 1 (32 bits) |
/// | 12 | the length of the field lines (32 bits) |
/// | 16 | the length of the body (64 bits) |
/// | 24 | the key: SHA-256 of method and URL |
/// | 56 | SHA-256 of the body |
/// | 88 | the salt of the selection, 16 bytes |
/// | 104 | the selection: SHA-256 of the salt, the session's trust and the selecting fields of the request |
/// | 136 | the times of request and response, seconds since 1970 (64 bits each) |
/// | 152 | the status (64 bits) |
/// | 160 | SHA-256 of the 160 bytes before and the field lines |
///
/// Numbers are little-endian. A file of another version counts as damaged.
///
/// - Source: Docs/Decisions/0027.
enum CacheEntryFormat {
    static let headerLength = 192
    private static let checkedLength = 160
    private static let magic = Array("MLTCACHE".utf8)
    private static let version: UInt32 = 1
    /// The longest accepted field lines in bytes: more than the transport accepts.
    static let longestFields = 1 << 20

    /// The decoded header.
    struct Header {
        var fieldsLength: Int
        var bodyLength: Int64
        var bodyDigest: [UInt8]
        var selection: CacheSelection
        var requestTime: Int64
        var responseTime: Int64
        var status: Int
        private var checked: ArraySlice<UInt8>
        private var digest: ArraySlice<UInt8>

        /// Decodes the first bytes of a file; `nil` if they are not the header of this key's response.
        init?(_ bytes: [UInt8], _ key: CacheKey) {
            guard bytes.count == headerLength, bytes[0..<8].elementsEqual(magic), Self.number(bytes, 8, 4) == version,
                bytes[24..<56].elementsEqual(key.digest)
            else { return nil }
            let fieldsLength = Self.number(bytes, 12, 4)
            guard fieldsLength <= UInt64(longestFields),
                let bodyLength = Int64(exactly: Self.number(bytes, 16, 8)),
                bodyLength < Int64.max - Int64(headerLength + longestFields),
                let status = Int(exactly: Self.number(bytes, 152, 8)), (200...999).contains(status)
            else { return nil }
            self.fieldsLength = Int(fieldsLength)
            self.bodyLength = bodyLength
            self.bodyDigest = Array(bytes[56..<88])
            self.selection = CacheSelection(salt: Array(bytes[88..<104]), digest: Array(bytes[104..<136]))
            self.requestTime = Int64(bitPattern: Self.number(bytes, 136, 8))
            self.responseTime = Int64(bitPattern: Self.number(bytes, 144, 8))
            self.status = status
            self.checked = bytes[..<checkedLength]
            self.digest = bytes[checkedLength...]
        }

        /// The head, or `nil` if the field lines or the header are damaged.
        func response(_ fields: [UInt8]) -> StoredResponse? {
            guard SHA256.hash(data: self.checked + fields).elementsEqual(self.digest),
                let fields = StoredResponse.fields(decoding: fields)
            else { return nil }
            return StoredResponse(
                status: self.status,
                fields: fields,
                requestTime: self.requestTime,
                responseTime: self.responseTime
            )
        }

        private static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
            bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    /// Encodes the header.
    static func header(
        _ key: CacheKey,
        _ response: StoredResponse,
        _ selection: CacheSelection,
        fields: [UInt8],
        bodyLength: Int64,
        bodyDigest: [UInt8]
    ) -> [UInt8] {
        var bytes = self.magic
        func append(_ number: some FixedWidthInteger) { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
        append(self.version)
        append(UInt32(fields.count))
        append(bodyLength)
        bytes += key.digest + bodyDigest + selection.salt + selection.digest
        append(response.requestTime)
        append(response.responseTime)
        append(UInt64(response.status))
        return bytes + SHA256.hash(data: bytes + fields)
    }
}

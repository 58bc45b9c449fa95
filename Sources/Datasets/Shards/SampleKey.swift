// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import TransferCore

/// Encodes the keys of rows as names of samples.
///
/// WebDataset groups members by their name up to the first dot of its last component. An encoded key has only letters and
/// digits of ASCII, `-` and `_`; every other byte of the UTF-8 text is `%XX`, and so is a leading `-`, which programs
/// take for an option. Different keys have different names:
///
/// | key | name |
/// |---|---|
/// | at most ``longest`` bytes when encoded | the encoded bytes, reversible by ``decode(_:)`` |
/// | empty | `%` |
/// | longer | the encoded beginning, `%h`, and 32 hexadecimal digits of the key's SHA-256 |
/// | used in the shard before | the name, `%r`, and the number of the row |
///
/// Names that only differ in case are distinct here, but not on a file system that ignores it.
enum SampleKey {
    /// The maximum length of an encoded key; with an extension and a row's number it has room in a file's name.
    static let longest = 200

    /// The name of a key.
    static func encode(_ key: String) -> String {
        guard !key.isEmpty else { return "%" }
        // Most keys need no encoding.
        if key.utf8.count <= self.longest, key.utf8.first != 0x2D, key.utf8.allSatisfy(self.isPlain) { return key }
        var name: [UInt8] = []
        for byte in key.utf8 {
            if self.isPlain(byte), byte != 0x2D || !name.isEmpty {
                name.append(byte)
            } else {
                PercentEncoding.append(byte, to: &name)
            }
        }
        guard name.count > self.longest else { return String(decoding: name, as: UTF8.self) }
        var cut = name.prefix(self.longest - 34)
        // An escape remains whole.
        if let percent = cut.lastIndex(of: 0x25), cut.endIndex - percent < 3 { cut = cut[..<percent] }
        let digest = SHA256.hash(data: Array(key.utf8)).prefix(16)
        return String(decoding: cut, as: UTF8.self) + "%h" + Hexadecimal.encode(digest)
    }

    /// The name of a sample whose encoded key is used in the shard by another row.
    static func distinct(_ name: String, row: Int64) -> String { "\(name)%r\(row)" }

    /// The key of a name, or `nil` if the name does not determine it or is not an encoded key.
    static func decode(_ name: String) -> String? {
        if name == "%" { return "" }
        var key: [UInt8] = []
        var rest = Array(name.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == 0x25 {
                guard let bytes = Hexadecimal.decode(rest.prefix(2)), let byte = bytes.first else { return nil }
                key.append(byte)
                rest = rest.dropFirst(2)
            } else {
                guard self.isPlain(byte) else { return nil }
                key.append(byte)
            }
        }
        return key.isEmpty ? nil : String(validating: key, as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
    }
}

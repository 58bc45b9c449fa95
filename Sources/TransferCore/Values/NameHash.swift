// SPDX-License-Identifier: Apache-2.0
/// Hashes of file names: FNV-1a, the same in every run, unlike `Hasher`, so that a test can rely on it.
///
/// Two names with one hash cost an unnecessary number or look-up, never a file.
package enum NameHash {
    /// The hash of no bytes.
    package static let start: UInt64 = 0xCBF2_9CE4_8422_2325

    /// The hash of bytes that follow those with the hash `start`.
    package static func of(_ bytes: UnsafeRawBufferPointer, after start: UInt64 = NameHash.start) -> UInt64 {
        var hash = start
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }

    /// The hash of a text that follows bytes with the hash `start`.
    package static func of(_ text: String, after start: UInt64 = NameHash.start) -> UInt64 {
        var text = text
        return text.withUTF8 { self.of(UnsafeRawBufferPointer($0), after: start) }
    }
}

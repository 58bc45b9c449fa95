// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Writes PEM text.
///
/// - Source: RFC 7468.
enum PEMText {
    /// Encodes DER bytes with a label such as `CERTIFICATE`.
    static func write(_ label: String, _ bytes: [UInt8]) -> String {
        let text = Array(Base64.encode(bytes))
        var lines = "-----BEGIN \(label)-----\n"
        for start in stride(from: 0, to: text.count, by: 64) {
            lines += String(text[start..<min(start + 64, text.count)]) + "\n"
        }
        return lines + "-----END \(label)-----\n"
    }
}

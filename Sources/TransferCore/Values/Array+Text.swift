// SPDX-License-Identifier: Apache-2.0
extension [UInt8] {
    /// Appends the bytes of a text.
    ///
    /// `append(contentsOf: text.utf8)` iterates over a view, which costs about three times as much for a short text.
    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { self.append(contentsOf: $0) }
    }
}

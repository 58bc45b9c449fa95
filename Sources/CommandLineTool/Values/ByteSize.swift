// SPDX-License-Identifier: Apache-2.0
/// Parses a number of bytes: digits with an optional suffix K, M, G or T for powers of 1024.
enum ByteSize {
    /// Parses `1500`, `64K`, `1.5M`, `2GiB`.
    ///
    /// - Throws: ``BadValue`` if the text is not a size or the size is too large.
    static func parse(_ text: String) throws(BadValue) -> Int64 {
        let bad = BadValue(
            "\"\(DisplayText.clean(text))\" is not a size; write a number of bytes such as 500K, 1.5M or 2G"
        )
        var digits = Substring(text)
        var shift = 0
        let suffix = text.drop { $0.isASCII && ($0.isNumber || $0 == ".") }
        switch suffix.lowercased() {
        case "", "b": break
        case "k", "kb", "kib": shift = 10
        case "m", "mb", "mib": shift = 20
        case "g", "gb", "gib": shift = 30
        case "t", "tb", "tib": shift = 40
        default: throw bad
        }
        digits.removeLast(suffix.count)
        if let whole = Int64(digits) {
            let (bytes, overflow) = whole.multipliedReportingOverflow(by: Int64(1) << Int64(shift))
            guard !overflow, whole >= 0 else {
                throw BadValue("\"\(DisplayText.clean(text))\" is too large; write a smaller size")
            }
            return bytes
        }
        guard digits.first?.isNumber == true, let number = Double(digits), number.isFinite else { throw bad }
        let bytes = number * Double(Int64(1) << Int64(shift))
        guard bytes < 0x1p62 else {
            throw BadValue("\"\(DisplayText.clean(text))\" is too large; write a smaller size")
        }
        return Int64(bytes)
    }
}

/// An invalid value on the command line or in an input file.
struct BadValue: Error, CustomStringConvertible, Equatable {
    /// The problem and how to fix it.
    var description: String

    init(_ description: String) { self.description = description }
}

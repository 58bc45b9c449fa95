// SPDX-License-Identifier: Apache-2.0
import Files
import Platform

extension BootID {
    /// The boot id from `/proc/sys/kernel/random/boot_id`; unknown if that cannot be read.
    static func current() -> BootID {
        let raw = FileCalls.open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard raw >= 0 else { return .unknown }
        let file = FileDescriptor(raw)
        let text = withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer -> [UInt8] in
            // Bounds: read(2) returns at most the size of the buffer.
            let count = file.read(into: buffer, at: 0)
            return count > 0 ? Array(buffer[..<count]) : []
        }
        return BootID(text: text) ?? .unknown
    }

    /// Parses the kernel's format: 32 hexadecimal digits with hyphens.
    init?(text: [UInt8]) {
        let digits = text.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 32 else { return nil }
        func number(_ digits: ArraySlice<Int>) -> UInt64 { digits.reduce(0) { $0 << 4 | UInt64($1) } }
        self.init(low: number(digits[..<16]), high: number(digits[16...]))
    }
}

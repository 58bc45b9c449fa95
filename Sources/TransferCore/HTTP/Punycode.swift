// SPDX-License-Identifier: Apache-2.0
/// Encodes Unicode as letters, digits and hyphens of host names.
///
/// - Source: RFC 3492 §6.
enum Punycode {
    /// The Punycode of one label without its `xn--`, or `nil` on overflow.
    static func encode(_ label: [Unicode.Scalar]) -> [UInt8]? {
        var output = label.filter(\.isASCII).map { UInt8(truncatingIfNeeded: $0.value) }
        let basicCount = output.count
        if basicCount > 0 { output.append(0x2D) }
        var handled = basicCount
        var code: UInt32 = 128
        var delta: UInt32 = 0
        var bias: UInt32 = 72
        while handled < label.count {
            guard let next = label.lazy.map(\.value).filter({ $0 >= code }).min(),
                let count = UInt32(exactly: handled + 1)
            else { return nil }
            let (product, overflow) = (next - code).multipliedReportingOverflow(by: count)
            let (sum, sumOverflow) = delta.addingReportingOverflow(product)
            if overflow || sumOverflow { return nil }
            delta = sum
            code = next
            for scalar in label {
                if scalar.value < code {
                    let (more, overflow) = delta.addingReportingOverflow(1)
                    if overflow { return nil }
                    delta = more
                }
                if scalar.value == code {
                    self.append(delta, bias, to: &output)
                    bias = self.adapt(delta, handled + 1, isFirst: handled == basicCount)
                    delta = 0
                    handled += 1
                }
            }
            let (more, moreOverflow) = delta.addingReportingOverflow(1)
            if moreOverflow { return nil }
            delta = more
            code += 1
        }
        return output
    }

    private static func append(_ delta: UInt32, _ bias: UInt32, to output: inout [UInt8]) {
        var rest = delta
        var position: UInt32 = 36
        while true {
            let threshold: UInt32 = position <= bias ? 1 : min(position - bias, 26)
            if rest < threshold { break }
            output.append(self.digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            position += 36
        }
        output.append(self.digit(rest))
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        value < 26 ? 0x61 + UInt8(value) : 0x30 + UInt8(truncatingIfNeeded: value - 26)
    }

    private static func adapt(_ delta: UInt32, _ count: Int, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / UInt32(truncatingIfNeeded: count)
        var shift: UInt32 = 0
        while delta > 455 {
            delta /= 35
            shift += 36
        }
        return shift + 36 * delta / (delta + 38)
    }
}

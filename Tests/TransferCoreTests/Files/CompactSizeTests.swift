// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite struct CompactSizeTests {
    @Test(
        "Plain bytes have no decimals, larger sizes two; what rounds up takes the next unit",
        arguments: [
            (0, "0B"), (1, "1B"), (1023, "1023B"), (1024, "1.00KB"), (1536, "1.50KB"), (1029, "1.00KB"),
            (1_048_570, "1023.99KB"), (1_048_571, "1.00MB"), (1_048_575, "1.00MB"), (1_048_576, "1.00MB"),
            ((1 << 30) - 1, "1.00GB"), (5 << 30, "5.00GB"), ((1 << 40) - 1, "1.00TB"), (3 << 39, "1.50TB"),
            (1 << 50, "1024.00TB"), (.max, "8388608.00TB"), (.min, "-8388608.00TB"), (-1, "-1B"), (-1536, "-1.50KB"),
        ] as [(Int64, String)]
    )
    func binary(_ bytes: Int64, _ text: String) { #expect(ByteCount.compact(bytes) == text) }

    @Test(
        "Decimal sizes count in thousands",
        arguments: [
            (999, "999B"), (1000, "1.00KB"), (1500, "1.50KB"), (999_994, "999.99KB"), (999_995, "1.00MB"),
            (1_000_000, "1.00MB"), (999_999_999_999, "1.00TB"), (1_500_000_000_000_000, "1500.00TB"),
            (.max, "9223372.04TB"), (.min, "-9223372.04TB"), (-999, "-999B"),
        ] as [(Int64, String)]
    )
    func decimal(_ bytes: Int64, _ text: String) { #expect(ByteCount.compact(bytes, base: .decimal) == text) }

    @Test(
        "A rate is a size per second; for NaN or a negative number there is none, an infinite one is the largest",
        arguments: [
            (0, "0B/s"), (0.4, "0B/s"), (0.5, "1B/s"), (1023.4, "1023B/s"), (1023.6, "1.00KB/s"),
            (1_572_864, "1.50MB/s"), (-1, "0B/s"), (-.infinity, "0B/s"), (.nan, "0B/s"), (.signalingNaN, "0B/s"),
            (.infinity, "8388608.00TB/s"), (.greatestFiniteMagnitude, "8388608.00TB/s"), (0x1p63, "8388608.00TB/s"),
            (.leastNonzeroMagnitude, "0B/s"), (-0.0, "0B/s"),
        ] as [(Double, String)]
    )
    func rates(_ rate: Double, _ text: String) { #expect(ByteCount.compactRate(rate) == text) }

    @Test("A decimal rate counts in thousands")
    func decimalRates() { #expect(ByteCount.compactRate(1_500_000, base: .decimal) == "1.50MB/s") }

    @Test("No size traps, and none below terabytes shows a whole unit of the next")
    func anySize() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<5000 {
            let bytes =
                Int64.random(in: .min ... .max, using: &generator) >> Int64.random(in: 0..<63, using: &generator)
            for base in [ByteCount.Base.binary, .decimal] {
                let text = ByteCount.compact(bytes, base: base)
                let whole = text.drop { $0 == "-" }.prefix { $0.isNumber }
                #expect(text.hasSuffix("TB") || (UInt64(whole) ?? .max) < base.rawValue, "\(bytes) \(text)")
            }
            _ = ByteCount.compactRate(Double(bitPattern: UInt64.random(in: .min ... .max, using: &generator)))
        }
    }
}

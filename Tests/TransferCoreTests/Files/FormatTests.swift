// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite struct FormatTests {
    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "0.98 KiB"), (1023, "1.00 KiB"), (1024, "1.00 KiB"), (1536, "1.50 KiB"),
            (10_240, "10.0 KiB"),
            (102_400, "100 KiB"), (1_048_575, "1.00 MiB"), (10_239, "10.0 KiB"), (1_023_487, "999 KiB"),
            (1_023_488, "0.98 MiB"), (1_047_552, "1.00 MiB"),
            (5 << 30, "5.00 GiB"), (.max, "8.00 EiB"), (-1536, "-1.50 KiB"), (.min, "-8.00 EiB"), (1 << 40, "1.00 TiB"),
        ] as [(Int64, String)]
    )
    func sizesHaveThreeDigits(_ bytes: Int64, _ text: String) {
        #expect(ByteCount.binary(bytes) == text)
        if bytes >= 0 {
            #expect(ByteCount.binaryRate(Double(bytes)) == text + "/s")
            #expect(ByteCount.binary(0, of: bytes) == (bytes < 1000 ? "0/" : "0.00/") + text)
        }
    }

    @Test("A size has at most three digits, and never rounds up to the next unit")
    func anySize() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let bytes = Int64.random(in: 0 ... .max, using: &generator) >> Int64.random(in: 0...62, using: &generator)
            let parts = ByteCount.binary(bytes).split(separator: " ")
            #expect(parts.count == 2 && parts[0].count { $0 != "." } <= 3, "\(bytes)")
            #expect(Double(parts[0]).map { $0 < 1000 } == true, "\(bytes)")
        }
        #expect(ByteCount.binaryRate(.nan) == "0 B/s" && ByteCount.binaryRate(-1) == "0 B/s")
    }

    @Test(
        arguments: [
            ("0", 0), ("10", 10), ("10K", 10_240), ("10k", 10_240), ("1.5M", 1_572_864), ("2G", 2 << 30),
            ("2 GiB", 2 << 30),
            ("1KB", 1024), ("5B", 5), (".5K", 512), ("1.", 1), ("7E", 7 << 60), ("0.0000001K", 0),
            ("1.9999999999999999999999K", 2047), ("9223372036854775807", .max),
        ] as [(String, Int64)]
    )
    func sizesAreReadInPowersOf1024(_ text: String, _ bytes: Int64) { #expect(ByteCount.parse(text) == bytes) }

    @Test(arguments: [
        "", "K", "b", ".", ".K", "-1", "1X", "1.5.5", "8E", "9223372036854775808", "1e9", "1iB", "0x10", "KiB", "+1",
        "1.-5K",
        "99999999999999999999G",
    ])
    func malformedSizesAreNone(_ text: String) { #expect(ByteCount.parse(text) == nil) }

    @Test(
        arguments: [
            (0, "0s"), (12, "12s"), (59, "59s"), (60, "1m00s"), (185, "3m05s"), (3720, "1h02m"), (86400, "1d00h"),
            (183_600, "2d03h"), (-5, "0s"),
        ] as [(Int64, String)]
    )
    func durationsShowTwoUnits(_ seconds: Int64, _ text: String) {
        #expect(DurationFormat.compact(seconds: seconds) == text)
    }

    @Test func shortDurationsShowTenths() {
        #expect(DurationFormat.compact(.milliseconds(340)) == "0.3s")
        #expect(DurationFormat.compact(.milliseconds(9990)) == "10s")
        #expect(DurationFormat.compact(.milliseconds(2000)) == "2s")
        #expect(DurationFormat.compact(.milliseconds(59_600)) == "1m00s")
        #expect(DurationFormat.compact(.milliseconds(-340)) == "0s")
        #expect(DurationFormat.compact(.seconds(Int64.max)).hasSuffix("h"))
    }
}

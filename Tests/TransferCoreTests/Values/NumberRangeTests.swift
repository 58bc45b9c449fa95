// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

/// Numbers within a few of the ends of the integer types, given to everything that parses numbers.
///
/// An overflow traps and ends the test process, so that most cases need no expectation.
@Suite("Numbers at the ends of the integer types")
struct NumberRangeTests {
    private static let integers: [Int64] = [
        .min, .min + 1, .min + 2, -(1 << 62), Int64(Int32.min) - 1, Int64(Int32.min), -1, 0, 1, 59, 60, 61,
        Int64(Int32.max), Int64(Int32.max) + 1, Int64(UInt32.max), 1 << 48, 1 << 56, 1 << 62, .max - 65_536,
        .max - 4096,
        .max - 2, .max - 1, .max,
    ]
    private static let otherTexts = [
        "9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
        String(repeating: "9", count: 399), "1e18", "1e400", "-1e400", "9.3e18", "nan", "inf", "-inf", "0x7fffffff",
    ]
    private static let texts = Self.integers.map { String($0) } + Self.otherTexts

    @Test("sums and differences are clamped to the type")
    func saturation() {
        for (left, right) in Self.pairs {
            let (sum, difference) = (Double(left) + Double(right), Double(left) - Double(right))
            let (added, subtracted) = (left.adding(clamping: right), left.subtracting(clamping: right))
            #expect(abs(Double(added) - max(min(sum, 0x1p63), -0x1p63)) <= 2048)
            #expect(abs(Double(subtracted) - max(min(difference, 0x1p63), -0x1p63)) <= 2048)
        }
        #expect(Int64.max.adding(clamping: 1) == .max && Int64.min.adding(clamping: -1) == .min)
        #expect(Int64(0).subtracting(clamping: .min) == .max && Int64(-2).subtracting(clamping: .max) == .min)
        #expect(UInt64.max.adding(clamping: 1) == .max && UInt64(0).subtracting(clamping: 1) == 0)
    }

    private static let pairs = Self.integers.flatMap { left in Self.integers.map { (left, $0) } }

    @Test("are parsed or refused in header fields")
    func fields() throws {
        let url = try HTTPURL("http://example.com/a")
        for text in Self.texts {
            #expect(
                DecimalNumber.parse(text.utf8)
                    == (text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? Int64(text) : nil)
            )
            for now in Self.integers {
                _ = RetryAfter.seconds(text, now: now)
                for field in ["max-age=\(text)", "expires=\(text)", "expires=Fri, 31 Dec \(text) 23:59:60 GMT"] {
                    var jar = CookieJar()
                    jar.receive(["a=b; \(field)"], from: url, now: now)
                    _ = jar.field(for: url, now: now)
                    jar.removeExpired(now: now)
                }
            }
            for other in Self.texts {
                for value in ["bytes \(text)-\(other)/*", "bytes 0-\(text)/\(other)", "bytes */\(text)"] {
                    guard let range = ContentRange(value)?.range else { continue }
                    #expect(range.lowerBound < range.upperBound)
                }
            }
            _ = HTTPDate.parse("Fri, 31 Dec \(text) 23:59:60 GMT")
            _ = RobotsRules(Array("User-agent: *\nCrawl-delay: \(text)\n".utf8), for: "martlet")
            _ = ByteCount.parse(text)
            for unit in "KMGTPE" { _ = ByteCount.parse("\(text)\(unit)") }
            _ = try? JSON(parsing: Array("[\(text),1E\(text),\(text).5]".utf8))
            _ = try? HTTPURL("http://example.com:\(text)/")
        }
    }

    @Test("are dates, ages and sizes")
    func values() {
        let texts = Self.texts
        for (left, right) in Self.pairs {
            _ = HTTPDate.format(left)
            _ = ByteCount.binary(left)
            _ = DurationFormat.compact(.seconds(left))
            var validators = Validators(lastModified: "Mon, 01 Jan 2024 00:00:00 GMT", received: left)
            _ = validators.isLastModifiedStrong
            validators.date = HTTPDate.format(right)
            _ = validators.isLastModifiedStrong
            let response = StoredResponse(
                status: 200,
                fields: ["Cache-Control": "max-age=\(right), stale-if-error=\(right)", "Age": "\(left)"],
                requestTime: left,
                responseTime: right
            )
            for now in [Int64.min, 0, .max] {
                _ = response.isUsable(for: ["Cache-Control": "max-stale=\(left), min-fresh=\(right)"], at: now)
                _ = response.isUsableAfterError(for: [:], at: now)
            }
        }
        for text in texts {
            _ = UploadRecord(
                encoded: Array(
                    """
                    martlet-upload 1
                    protocol tus
                    endpoint http://a/
                    resource http://a/b
                    length \(text)
                    file \(text) \(text) \(text) \(text)
                    changed \(text)
                    expires \(text)
                    end

                    """
                    .utf8
                )
            )
        }
    }

    @Test("delays of retries add up to the longest time instead of trapping")
    func retries() {
        var stage = MachineStage()
        let id = stage.add(retries: 1000) { $0.retryWait = .max / 2 }
        for _ in 0..<8 {
            #expect(stage.starts() == [id.rawValue])
            _ = stage.end(id.rawValue, MachineStage.throttled(.max))
            _ = stage.machine.pause(id)
            _ = stage.machine.resume(id)
        }
    }
}

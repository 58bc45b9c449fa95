// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

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
    private static let edges = EdgeNumbers.texts

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

    @Test("are lengths of messages and chunks, and versions")
    func messages() {
        let heads = [
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 206 x\r\nContent-Length: 3, 3\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=4\r\nabc\r\n0\r\nA: 5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;q=1\r\nKeep-Alive: timeout=5, max=9\r\n\r\n3\r\n",
            "POST /7?a=8 HTTP/1.1\r\nHost: h:80\r\nContent-Length: 3\r\n\r\nabc",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=4\r\nabc\r\n0\r\nA: 5\r\n\r\n",
        ]
        let sizes = EdgeNumbers.integers.filter { $0 >= 0 }
            .map {
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + String($0, radix: 16) + "\r\nabc"
            }
        for message in heads.flatMap({ EdgeNumbers.variants(of: $0) }) + sizes {
            for isHeadRequest in [false, true] {
                var parser = ResponseParser(isHeadRequest: isHeadRequest)
                Array(message.utf8)
                    .withUnsafeBytes { bytes in
                        var consumed = 0
                        while let part = try? parser.next(bytes, consumed: &consumed) {
                            if case .needMore = part { break }
                            if case .body(let range) = part { #expect(range.upperBound <= bytes.count) }
                        }
                        #expect(consumed <= bytes.count)
                    }
                _ = parser.finish()
            }
            var parser = RequestParser()
            Array(message.utf8)
                .withUnsafeBytes { bytes in
                    var consumed = 0
                    while let part = try? parser.next(bytes, consumed: &consumed) {
                        if case .needMore = part { break }
                        if case .body(let range) = part { #expect(range.upperBound <= bytes.count) }
                    }
                    #expect(consumed <= bytes.count)
                }
        }
    }

    @Test("are items, weights, ports, prefixes and counts of other fields and files")
    func otherFields() {
        for text in EdgeNumbers.variants(of: "5;a=6;b=?0") + EdgeNumbers.variants(of: "?1;a=2.5") {
            _ = StructuredItem(text)
            _ = StructuredItem.integer(text)
        }
        for text in Self.edges {
            _ = AuthenticationChallenge.parse([
                "Digest realm=\"r\", nonce=\"n\", nc=\(text), stale=\(text), algorithm=MD5"
            ])
            _ = ContentDisposition("attachment; filename*\(text)=a; filename*=UTF-8''%\(text)")
            _ = DigestFields.parse("sha-256=\(text), sha-512=:\(text):", source: "s")
            _ = IPv6Address("::\(text)".utf8)
            _ = ProxyExceptions("10.0.0.0/\(text),h:\(text),[::1]/\(text),[::1]:\(text)")
            _ = try? ProxyServer("http://h:\(text)")
            _ = CookieDate.parse("Fri, \(text) Dec \(text) 23:\(text):60 GMT")
            _ = MediaType.fileExtension("a/b;q=\(text)")
            let line = Array("h\tTRUE\t/\tFALSE\t\(text)\tname\tvalue".utf8)
            for now in Self.integers { _ = try? NetscapeCookieLine.parse(line[...], now: now) }
        }
    }

    @Test("are offsets, lengths and limits of resumable uploads")
    func uploads() throws {
        let url = try HTTPURL("http://h/1")
        for text in Self.edges {
            for other in ["0", "100", text] {
                let fields: HeaderFields = [
                    "Location": "2", "Upload-Offset": text, "Upload-Length": other, "Upload-Complete": "?0",
                    "Upload-Incomplete": "?1", "Upload-Expires": "Wed, 25 Jun \(text) 16:00:00 GMT",
                    "Upload-Limit":
                        "max-size=\(text), min-size=\(other), max-append-size=\(text), expires=\(text), max-age=\(other)",
                    "Tus-Resumable": "1.0.0", "Tus-Max-Size": text, "Tus-Extension": "creation,expiration",
                ]
                for status in [104, 200, 201, 204, 409] {
                    let head = ResponseHead(status: status, fields: fields, framing: .none)
                    for length in [0, 100, Int64.max] {
                        var tus = TusMachine(length: length)
                        _ = tus.begin()
                        if case .remember = tus.received(head, from: url) { _ = tus.received(head, from: url) }
                        var resumed = TusMachine(length: length)
                        _ = resumed.resume(url)
                        _ = resumed.received(head, from: url)
                    }
                }
            }
        }
    }

    @Test("are lengths and numbers in messages of the bus")
    func busMessages() {
        // METHOD_RETURN with a reply serial and a body of one number.
        var message: [UInt8] = [0x6C, 2, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 15, 0, 0, 0]
        message += [5, 1, 0x75, 0, 1, 0, 0, 0, 8, 1, 0x67, 0, 1, 0x75, 0, 0, 7, 0, 0, 0]
        let words = EdgeNumbers.integers.map { UInt32(truncatingIfNeeded: $0) }
        for offset in stride(from: 4, to: message.count - 3, by: 1) {
            for word in words {
                for isLittle in [true, false] {
                    var bytes = message
                    bytes[0] = isLittle ? 0x6C : 0x42
                    for index in 0..<4 {
                        bytes[offset + index] = UInt8(
                            truncatingIfNeeded: word >> UInt32(8 * (isLittle ? index : 3 - index))
                        )
                    }
                    if case .message(_, let size) = DBusMessage.parse(bytes[...]) { #expect(size <= bytes.count) }
                }
            }
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
            _ = stage.machine.pause(id, now: stage.now)
            _ = stage.machine.resume(id)
        }
    }
}

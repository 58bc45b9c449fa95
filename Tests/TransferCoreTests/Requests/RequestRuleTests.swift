// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Rules of requests: redirects, unwanted bodies, fields")
struct RequestRuleTests {
    private static let rule = RedirectRule(maximum: 2, allowsDowngrade: false)

    private static func target(_ location: String, from url: String, hops: Int = 0, _ rule: RedirectRule) -> String {
        do throws(TransferFailure) {
            return try rule.target(of: location, from: MachineHarness.url(url), hops: hops).description
        } catch {
            return error.code.rawValue
        }
    }

    @Test("a redirect's target is relative to the URL that responded")
    func resolves() {
        #expect(Self.target("/g", from: "http://a/d/f", Self.rule) == "http://a/g")
        #expect(Self.target("g?x", from: "http://a/d/f", Self.rule) == "http://a/d/g?x")
        #expect(Self.target("//b/g", from: "http://a/f", Self.rule) == "http://b/g")
    }

    @Test("downgrades, other schemes and too many redirects are refused")
    func refuses() {
        #expect(Self.target("http://a/f", from: "https://a/f", Self.rule) == "redirects")
        let lenient = RedirectRule(maximum: 2, allowsDowngrade: true)
        #expect(Self.target("http://a/f", from: "https://a/f", lenient) == "http://a/f")
        #expect(Self.target("https://a/f", from: "http://a/f", Self.rule) == "https://a/f")
        #expect(Self.target("file:///etc/passwd", from: "http://a/f", Self.rule) == "redirects")
        #expect(Self.target("/g", from: "http://a/f", hops: 1, Self.rule) == "http://a/g")
        #expect(Self.target("/g", from: "http://a/f", hops: 2, Self.rule) == "redirects")
    }

    @Test("bodies of at most 64 KiB, and those of unknown length, are read to keep the connection")
    func drains() {
        func isDrained(_ framing: BodyFraming, keepsPrefix: Bool = false) -> Bool {
            Draining(ResponseHead(status: 404, framing: framing), keepsPrefix: keepsPrefix, then: 1) != nil
        }
        #expect(isDrained(.length(65_536)))
        #expect(!isDrained(.length(65_537)))
        #expect(isDrained(.chunked))
        #expect(isDrained(.none))
        #expect(!isDrained(.untilClose))
        #expect(isDrained(.untilClose, keepsPrefix: true))
    }

    @Test("a drained body of unknown length ends at 64 KiB; of a long one only the kept prefix is read")
    func limits() {
        let bytes = [UInt8](repeating: 7, count: 65_536)
        var chunked = Draining(ResponseHead(status: 404, framing: .chunked), keepsPrefix: false, then: 1)
        #expect(bytes.withUnsafeBytes { chunked?.take($0) } == true)
        #expect(bytes[..<1].withUnsafeBytes { chunked?.take($0) } == false)
        #expect(chunked?.failedResponse(from: MachineHarness.url("http://a/")) == nil)
        var long = Draining(ResponseHead(status: 404, framing: .untilClose), keepsPrefix: true, then: 1)
        #expect(bytes.withUnsafeBytes { long?.take($0) } == false)
        #expect(long?.failedResponse(from: MachineHarness.url("http://a/"))?.prefix.count == FailedResponse.prefixLimit)
    }

    @Test("only fields that describe the client go to another origin; content fields go with the content")
    func fields() {
        for name in ["User-Agent", "accept", "Accept-Language", "Cache-Control", "pragma"] {
            #expect(RequestFields.travels(name))
        }
        for name in ["Authorization", "Cookie", "Referer", "X-Key", "Accept-Encoding"] {
            #expect(!RequestFields.travels(name))
        }
        #expect(RequestFields.describesContent("content-TYPE"))
        #expect(!RequestFields.describesContent("Accept"))
        #expect(RequestFields.basicAuthorization(MachineHarness.url("http://u:p@a/")) == "Basic dTpw")
        #expect(RequestFields.basicAuthorization(MachineHarness.url("http://a/")) == nil)
    }

    @Test("safe and idempotent methods")
    func methods() {
        #expect(["GET", "HEAD"].allSatisfy(RequestMethod.isSafe))
        #expect(!["POST", "PUT", "DELETE", "OPTIONS"].contains(where: RequestMethod.isSafe))
        #expect(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].allSatisfy(RequestMethod.isIdempotent))
        #expect(!["POST", "PATCH"].contains(where: RequestMethod.isIdempotent))
    }
}

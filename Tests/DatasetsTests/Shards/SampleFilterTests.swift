// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import Datasets
@testable import TransferEngine

@Suite struct SampleFilterTests {
    private let images = SampleFilter(
        minimum: 10,
        maximum: 1000,
        types: MediaTypePattern.list("image/*, application/PDF") ?? []
    )

    @Test(arguments: [
        ("image/*", true), ("*/*", true), ("application/pdf", true), ("image", false), ("", false), ("*/png", false),
        ("image/", false), ("a/b/c", false), ("image/png;q=1", false), ("image/p ng", true), ("im(age/*", false),
    ])
    func aPatternIsAMediaRange(_ text: String, _ isValid: Bool) {
        #expect((MediaTypePattern(text) != nil) == isValid)
    }

    @Test func aListWithAnInvalidPatternIsRefused() {
        #expect(MediaTypePattern.list("image/*,application/pdf")?.map(\.description) == ["image/*", "application/pdf"])
        #expect(MediaTypePattern.list("image/*,") == nil)
        #expect(MediaTypePattern.list("") == nil)
    }

    @Test(
        arguments: [
            ("image/png", 10, nil), ("image/png", 9, .size), ("IMAGE/JPEG; x=y", 1000, nil), ("image/png", 1001, .size),
            ("application/x-pdf", nil, nil), ("text/html", nil, .type), ("imagery/png", 20, .type), (nil, 20, nil),
            ("application/octet-stream", nil, nil),
        ] as [(String?, Int64?, FilterRefusal.Code?)]
    )
    func theHeadDecidesWhatItKnows(_ type: String?, _ length: Int64?, _ code: FilterRefusal.Code?) {
        #expect(self.images.refusal(mediaType: type, length: length)?.code == code)
    }

    @Test(
        arguments: [
            ("image/png", 10, [], nil), ("image/png", 9, [], .size), (nil, 20, [0xFF, 0xD8, 0xFF], nil),
            ("application/octet-stream", 20, [0xFF, 0xD8, 0xFF], nil), (nil, 20, Array("<html>".utf8), .type),
            (nil, 20, Array("who knows".utf8), .type), ("binary/octet-stream", 20, Array("%PDF-1".utf8), nil),
        ] as [(String?, Int64, [UInt8], FilterRefusal.Code?)]
    )
    func theFirstBytesDecideForAnUnspecificType(
        _ type: String?,
        _ length: Int64,
        _ head: [UInt8],
        _ code: FilterRefusal.Code?
    ) {
        #expect(self.images.refusal(mediaType: type, length: length, head: head)?.code == code)
    }

    @Test func anUnspecificTypeThatIsWantedItselfIsAccepted() {
        for pattern in ["*/*", "application/octet-stream", "application/*"] {
            let filter = SampleFilter(types: MediaTypePattern.list(pattern) ?? [])
            #expect(filter.refusal(mediaType: nil, length: 3, head: Array("abc".utf8)) == nil)
        }
    }

    @Test func receivingEndsBehindTheMaximum() {
        #expect(self.images.refusal(received: 1000) == nil)
        #expect(self.images.refusal(received: 1001)?.code == .size)
        #expect(SampleFilter().isEmpty && SampleFilter().refusal(received: .max) == nil)
    }

    @Test func thePolicyEndsAnUnwantedResponseAndSaysWhy() throws {
        let policy = FilterPolicy(self.images)
        let url = try HTTPURL("http://h/a")
        let request = RequestFacts(id: TransferID(1), method: "GET", url: url, source: url, refusals: 0)
        func decide(_ type: String, _ length: Int64?) -> PolicyDecision? {
            let head = ResponseHead(status: 200, fields: ["Content-Type": type], framing: .chunked)
            return policy.decide(.response(head, length: length), about: request) { _ in }
        }
        guard case .proceed? = decide("image/png", 100) else {
            Issue.record("an image was refused")
            return
        }
        #expect(policy.refusal == nil)
        guard case .cancel? = decide("text/html", 100) else {
            Issue.record("a page was accepted")
            return
        }
        #expect(policy.refusal?.code == .type)
        // The first reason counts.
        #expect(policy.received(2000)?.code == .tooLarge)
        #expect(policy.refusal?.code == .type)
    }
}

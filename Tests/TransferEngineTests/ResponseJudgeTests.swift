import Testing
import TransferCore

@testable import TransferEngine

@Suite("What a response means to a request for a file")
struct ResponseJudgeTests {
    private let known = ResourceFacts(url: "http://a/f", length: 1000, entityTag: "\"x\"")

    private func judge(
        _ status: Int,
        _ fields: HTTPFields = [:],
        framing: BodyFraming = .chunked,
        range: ByteRange? = 100..<1000,
        have: Int64 = 100,
        ignoresTags: Bool = false
    ) -> String {
        let question = ResponseJudge.Question(
            range: range,
            known: range == nil ? nil : self.known,
            ignoresTags: ignoresTags,
            have: have,
            retryStatuses: [503],
            wallNow: 0
        )
        let length = fields["Content-Length"].flatMap { Int64($0) }
        let head = ResponseHead(status: status, fields: fields, framing: length.map { .length($0) } ?? framing)
        return switch ResponseJudge.judge(head, question) {
        case .whole(let length): "whole \(length.map(String.init) ?? "?")"
        case .range(let total): "range \(total.map(String.init) ?? "?")"
        case .startOver: "over"
        case .alreadyComplete: "complete"
        case .redirect(let location): "redirect \(location)"
        case .notModified: "not modified"
        case .failed(let failure): failure.isRetryable ? "again" : "failed"
        }
    }

    @Test("206 as asked, with the same total and validator, goes on")
    func partial() {
        #expect(self.judge(206, ["Content-Range": "bytes 100-999/1000", "ETag": "\"x\""]) == "range 1000")
        #expect(self.judge(206, ["Content-Range": "bytes 100-999/1000"]) == "range 1000")
    }

    @Test("206 with another start starts over")
    func otherStart() { #expect(self.judge(206, ["Content-Range": "bytes 0-999/1000"]) == "over") }

    @Test(
        "206 whose Content-Range is missing or malformed fails the attempt",
        arguments: [nil, "", "bytes", "bytes 9-1/3", "bytes x-y/z", "bytes 100-999/99999999999999999999"]
    )
    func malformed(range: String?) {
        #expect(self.judge(206, range.map { ["Content-Range": $0] } ?? [:]) == "again")
    }

    @Test("206 that was not asked for fails the attempt")
    func unasked() { #expect(self.judge(206, ["Content-Range": "bytes 0-9/10"], range: nil) == "again") }

    @Test("206 with an unknown total is accepted")
    func unknownTotal() { #expect(self.judge(206, ["Content-Range": "bytes 100-999/*"]) == "range ?") }

    @Test("206 whose two lengths disagree fails the attempt")
    func lengths() {
        #expect(self.judge(206, ["Content-Range": "bytes 100-999/1000", "Content-Length": "5"]) == "again")
    }

    @Test("multipart/byteranges is refused")
    func multipart() {
        let fields: HTTPFields = ["Content-Type": "multipart/byteranges; boundary=x"]
        #expect(self.judge(206, fields) == "again")
    }

    @Test("206 with a Content-Encoding starts over, identity does not")
    func encoded() {
        #expect(self.judge(206, ["Content-Range": "bytes 100-999/1000", "Content-Encoding": "gzip"]) == "over")
        #expect(
            self.judge(206, ["Content-Range": "bytes 100-999/1000", "Content-Encoding": "identity"]) == "range 1000"
        )
    }

    @Test("a total that changed starts over")
    func total() { #expect(self.judge(206, ["Content-Range": "bytes 100-1999/2000"]) == "over") }

    @Test("a changed entity tag starts over, unless tags are known to be worthless")
    func tag() {
        let fields: HTTPFields = ["Content-Range": "bytes 100-999/1000", "ETag": "\"y\""]
        #expect(self.judge(206, fields) == "over")
        #expect(self.judge(206, fields, ignoresTags: true) == "range 1000")
    }

    @Test("200 is the whole, of known or unknown length; 204 and 205 are empty")
    func whole() {
        #expect(self.judge(200, ["Content-Length": "5"]) == "whole 5")
        #expect(self.judge(200, framing: .chunked) == "whole ?")
        #expect(self.judge(200, framing: .untilClose) == "whole ?")
        #expect(self.judge(204, framing: .none) == "whole 0")
        #expect(self.judge(205, framing: .none) == "whole 0")
    }

    @Test("416 is complete only where the length is what is there")
    func notSatisfiable() {
        #expect(self.judge(416, ["Content-Range": "bytes */1000"], have: 1000) == "complete")
        #expect(self.judge(416, ["Content-Range": "bytes */900"], have: 900) == "over")
        #expect(self.judge(416, ["Content-Range": "bytes */1000"], have: 100) == "over")
        #expect(self.judge(416, have: 1000) == "over")
        #expect(self.judge(416, range: nil, have: 0) == "failed")
    }

    @Test("412 starts over")
    func precondition() { #expect(self.judge(412) == "over") }

    @Test("a redirect needs a Location", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) {
        #expect(self.judge(status, ["Location": "/x"]) == "redirect /x")
        #expect(self.judge(status) == "failed")
    }

    @Test("other statuses fail, and only those listed are worth another attempt")
    func statuses() {
        #expect(self.judge(503) == "again")
        for status in [300, 304, 400, 401, 403, 404, 410, 500, 100, 999] { #expect(self.judge(status) == "failed") }
    }
}

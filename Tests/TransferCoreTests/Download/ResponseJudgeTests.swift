// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("What a response means to a request for a file")
struct ResponseJudgeTests {
    private func judge(
        _ status: Int,
        _ fields: HeaderFields = [:],
        framing: BodyFraming = .chunked,
        range: ByteRange? = 100..<1000
    ) -> String {
        let question = ResponseJudge.Question(range: range, retryStatuses: [503], wallNow: 0)
        let length = fields["Content-Length"].flatMap { Int64($0) }
        let head = ResponseHead(status: status, fields: fields, framing: length.map { .length($0) } ?? framing)
        func text(_ number: Int64?) -> String { number.map(String.init) ?? "?" }
        return switch ResponseJudge.judge(head, question) {
        case .whole(let length): "whole \(text(length))"
        case .range(let range, let total): "range \(range.upperBound) of \(text(total))"
        case .firstPart(let range, let total): "first \(range.upperBound) of \(text(total))"
        case .otherStart: "other start"
        case .malformedRange: "malformed"
        case .multipart: "multipart"
        case .notSatisfiable: "not satisfiable"
        case .preconditionFailed: "precondition"
        case .notModified: "not modified"
        case .failed(let failure): failure.isRetryable ? "again" : "failed"
        }
    }

    @Test("206 from where it was requested is taken, shorter than requested and of unknown total too")
    func partial() {
        #expect(self.judge(206, ["Content-Range": "bytes 100-999/1000"]) == "range 1000 of 1000")
        #expect(self.judge(206, ["Content-Range": "bytes 100-199/1000"]) == "range 200 of 1000")
        #expect(self.judge(206, ["Content-Range": "bytes 100-999/*"]) == "range 1000 of ?")
    }

    @Test("206 with another start, unless it carries the whole")
    func otherStart() {
        #expect(self.judge(206, ["Content-Range": "bytes 50-999/1000"]) == "other start")
        #expect(self.judge(206, ["Content-Range": "bytes 0-998/1000"]) == "other start")
        #expect(self.judge(206, ["Content-Range": "bytes 0-999/1000"]) == "whole 1000")
    }

    @Test(
        "206 whose Content-Range is missing or malformed",
        arguments: [nil, "", "bytes", "bytes 9-1/3", "bytes x-y/z", "bytes 100-999/99999999999999999999"]
    )
    func malformed(range: String?) {
        #expect(self.judge(206, range.map { ["Content-Range": $0] } ?? [:]) == "malformed")
    }

    @Test("an unrequested 206: the complete file, or its first part")
    func unasked() {
        #expect(self.judge(206, ["Content-Range": "bytes 0-9/10"], range: nil) == "whole 10")
        #expect(self.judge(206, ["Content-Range": "bytes 0-9/20"], range: nil) == "first 10 of 20")
        #expect(self.judge(206, ["Content-Range": "bytes 0-9/*"], range: nil) == "first 10 of ?")
        #expect(self.judge(206, ["Content-Range": "bytes 5-9/20"], range: nil) == "other start")
    }

    @Test("206 whose two lengths disagree")
    func lengths() {
        #expect(self.judge(206, ["Content-Range": "bytes 100-999/1000", "Content-Length": "5"]) == "malformed")
    }

    @Test("multipart/byteranges is never taken")
    func multipart() {
        let fields: HeaderFields = ["Content-Type": "multipart/byteranges; boundary=x"]
        #expect(self.judge(206, fields) == "multipart")
    }

    @Test("200 is the whole, of known or unknown length; 204 and 205 are empty")
    func whole() {
        #expect(self.judge(200, ["Content-Length": "5"]) == "whole 5")
        #expect(self.judge(200, framing: .chunked) == "whole ?")
        #expect(self.judge(200, framing: .untilClose) == "whole ?")
        #expect(self.judge(204, framing: .none) == "whole 0")
        #expect(self.judge(205, framing: .none) == "whole 0")
    }

    @Test("416 alone proves nothing")
    func notSatisfiable() {
        #expect(self.judge(416, ["Content-Range": "bytes */1000"]) == "not satisfiable")
        #expect(self.judge(416, range: nil) == "not satisfiable")
    }

    @Test("412 to a range says that the file changed")
    func precondition() {
        #expect(self.judge(412) == "precondition")
        #expect(self.judge(412, range: nil) == "failed")
    }

    @Test("a redirect needs a Location", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) {
        let failure = ResponseJudge.failure(ResponseHead(status: status, framing: .none), retrying: [], wallNow: 0)
        #expect(self.judge(status) == "failed")
        #expect(failure.message == "redirect (\(status)) without a Location")
    }

    @Test("other statuses fail, and only those listed are worth another attempt")
    func statuses() {
        #expect(self.judge(503) == "again")
        for status in [300, 304, 400, 401, 403, 404, 410, 500, 100, 999] { #expect(self.judge(status) == "failed") }
    }
}

// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// The result of a response, however it was split.
struct ParsedResponse: Equatable {
    /// How the response ended.
    enum Ending: Equatable {
        case ended
        case endedByClose
        case truncated
        case failed(HTTP1Error)
    }

    var status: Int?
    var reason = ""
    var fields: [String] = []
    var framing: BodyFraming?
    var body: [UInt8] = []
    var trailers: [String] = []
    var keepsAlive = false
    var ending = Ending.truncated
    /// The bytes that do not belong to the response.
    var rest = 0

    /// Parses one response that arrives in the given pieces, then the connection's end.
    init(pieces: [ArraySlice<UInt8>], isHeadRequest: Bool = false, limits: ResponseParser.Limits = .init()) {
        var parser = ResponseParser(isHeadRequest: isHeadRequest, limits: limits)
        do {
            for piece in pieces {
                try self.feed(piece, to: &parser)
            }
            if self.ending == .ended { return }
            switch parser.finish() {
            case .ended: self.ending = .endedByClose
            case .nothingBegun, .truncated: self.ending = .truncated
            case .alreadyEnded: self.ending = .ended
            }
        } catch {
            self.ending = .failed(error)
        }
    }

    private mutating func feed(_ piece: ArraySlice<UInt8>, to parser: inout ResponseParser) throws(HTTP1Error) {
        var consumed = 0
        while true {
            let part =
                try piece.withUnsafeBytes { (bytes) -> Result<ResponseParser.Part, HTTP1Error> in
                    Result { () throws(HTTP1Error) in try parser.next(bytes, consumed: &consumed) }
                }
                .get()
            switch part {
            case .needMore:
                self.rest += piece.count - consumed
                return
            case .interim: continue
            case .head(let head):
                self.status = head.status
                self.reason = head.reason
                self.fields = Self.lines(head.fields)
                self.framing = head.framing
                self.keepsAlive = parser.shouldKeepAlive
            case .body(let range):
                self.body += piece[piece.startIndex + range.lowerBound..<piece.startIndex + range.upperBound]
            case .end(let trailers):
                self.trailers = Self.lines(trailers)
                self.ending = .ended
            }
        }
    }

    /// The fields as text in which invalid UTF-8 is repaired, as in the reference's; ``HeaderFields`` reads ISO 8859-1.
    private static func lines(_ fields: HeaderFields) -> [String] {
        var lines: [String] = []
        fields.forEachLine { name, value in
            let name = String(decoding: name, as: UTF8.self).lowercased()
            lines.append("\(name): \(String(decoding: value, as: UTF8.self))")
        }
        return lines
    }

    /// Parses a response that arrives at once.
    init(_ text: String, isHeadRequest: Bool = false, limits: ResponseParser.Limits = .init()) {
        self.init(pieces: [Array(text.utf8)[...]], isHeadRequest: isHeadRequest, limits: limits)
    }
}

// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import Martlet

/// The error of a body that could not be decoded or encoded.
public struct BodyCodingError: Error, CustomStringConvertible {
    /// The maximum number of the body's bytes in ``description``.
    private static let shownBytes = 200

    /// The URL of the response, or of the request if its body could not be encoded.
    public let url: HTTPURL
    /// The response, with its complete body; `nil` if the body of a request could not be encoded.
    public let response: DataResponse?
    /// The place of the error in the value, as in `items[3].name`; empty for the whole value.
    public let codingPath: String
    /// The error of the decoder or the encoder, usually a `DecodingError` or an `EncodingError`.
    public let underlyingError: any Error
    /// What failed, with the URL, the status, the media type, ``codingPath``, and the first bytes of the body.
    public let description: String

    init(_ error: any Error, _ type: String, url: HTTPURL, response: DataResponse?) {
        let (path, reason) = Self.details(error)
        self.url = url
        self.response = response
        self.codingPath = Self.text(of: path)
        self.underlyingError = error
        let place = self.codingPath.isEmpty ? "" : " at \(self.codingPath)"
        guard let response else {
            self.description = "\(url.redacted): the value of type \(type) cannot be encoded\(place): \(reason)"
            return
        }
        let kind = response.response.mediaType ?? "no media type"
        let about = "\(url.redacted): the body of status \(response.status) (\(kind), \(response.body.count) bytes)"
        // Quoted and escaped: the server may send control characters.
        let start = String(decoding: response.body.prefix(Self.shownBytes), as: UTF8.self).debugDescription
        let shown =
            response.body.isEmpty
            ? "it is empty"
            : response.body.count > Self.shownBytes ? "it begins with \(start)" : "it is \(start)"
        self.description = "\(about) cannot be decoded as \(type)\(place): \(reason); \(shown)"
    }

    private static func details(_ error: any Error) -> (path: [any CodingKey], reason: String) {
        switch error {
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            (context.codingPath, Self.trimmed(context.debugDescription))
        case DecodingError.keyNotFound(let key, let context): (context.codingPath + [key], "the key is missing")
        case EncodingError.invalidValue(_, let context):
            (context.codingPath, Self.trimmed(context.debugDescription))
        default: ([], "\(error)")
        }
    }

    /// The text without the period at its end.
    private static func trimmed(_ text: String) -> String { text.hasSuffix(".") ? String(text.dropLast()) : text }

    private static func text(of path: [any CodingKey]) -> String {
        path.reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += (text.isEmpty ? "" : ".") + key.stringValue
            }
        }
    }
}

extension BodyCodingError: LocalizedError {
    /// What failed, in one sentence, for the user of a program.
    public var errorDescription: String? {
        self.response == nil
            ? "The request could not be prepared." : "The response of the server could not be understood."
    }

    /// The technical details; see ``description``.
    public var failureReason: String? { self.description }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// What `URLSession` reports of a response's head.
struct ReportedHead: Sendable {
    var status: Int
    /// The fields in no order; fields of one name are joined by commas.
    var fields: [String: String]
}

/// Converts heads as `URLSession` reports them.
///
/// `URLSession` decodes contents of the codings that it knows, whatever was requested, and reports the fields of the
/// coded content. Offsets, lengths, validators and digests are then those of other bytes.
enum ResponseTranslation {
    /// Converts the head of a final response.
    ///
    /// - Parameters:
    ///   - reported: The head.
    ///   - method: The request's method.
    ///   - acceptsCoding: Whether the program requested codings. It then gets decoded content, without what is true of
    ///     the coded one only; otherwise such a success fails, because the bytes that the server sent cannot be had.
    /// - Returns: The head, or the error with which the exchange fails.
    static func head(
        _ reported: ReportedHead,
        method: String,
        acceptsCoding: Bool
    ) -> Result<ResponseHead, TransportError> {
        guard (200...999).contains(reported.status) else {
            return .failure(TransportError(.malformed, "the response has the invalid status \(reported.status)"))
        }
        guard var fields = self.fields(reported.fields) else {
            return .failure(TransportError(.malformed, "a header field of the response contains an invalid character"))
        }
        let hasContent = method != "HEAD" && reported.status != 204 && reported.status != 304
        var framing = BodyFraming.none
        if hasContent, let coding = self.coding(fields) {
            if (200...299).contains(reported.status), !acceptsCoding || reported.status == 206 {
                return .failure(
                    TransportError(
                        .malformed,
                        "the server sent its content coded (\(coding)), which the system decodes: the file cannot be had",
                        remedy: "use Martlet's own transport for this server"
                    )
                )
            }
            for name in self.fieldsOfCodedContent { fields.remove(name) }
            framing = .untilClose
        } else if hasContent {
            guard let known = self.framing(fields) else {
                return .failure(TransportError(.malformed, "the response has an invalid Content-Length"))
            }
            framing = known
        }
        return .success(ResponseHead(status: reported.status, fields: fields, framing: framing))
    }

    /// The fields that describe coded content, and nothing that is delivered.
    private static let fieldsOfCodedContent = [
        "Content-Encoding", "Content-Length", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest", "ETag",
        "Last-Modified", "Accept-Ranges",
    ]

    /// Converts fields; `nil` if one is not valid.
    static func fields(_ reported: [String: String]) -> HeaderFields? {
        var fields = HeaderFields()
        for (name, joined) in reported.sorted(by: { ($0.key.lowercased(), $0.key) < ($1.key.lowercased(), $1.key) }) {
            guard !name.isEmpty, name.utf8.allSatisfy(Byte.isTokenCharacter) else { return nil }
            guard !joined.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else { return nil }
            let isCookie = name.lowercased() == "set-cookie"
            for value in isCookie ? self.cookies(joined) : [joined] { fields.append(name, value) }
        }
        return fields
    }

    /// Separates cookies that were joined by commas, which their dates contain as well.
    ///
    /// A comma separates if a cookie's name and `=` follow it. What follows the comma of a date contains spaces.
    static func cookies(_ joined: String) -> [String] {
        var cookies: [String] = []
        for part in joined.split(separator: ",", omittingEmptySubsequences: false) {
            let rest = part.drop { $0 == " " }
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            let begins =
                name.endIndex < rest.endIndex && rest[name.endIndex] == "=" && !name.isEmpty
                && name.utf8.allSatisfy(Byte.isTokenCharacter)
            if let last = cookies.indices.last, !begins {
                cookies[last] += "," + part
            } else {
                cookies.append(String(cookies.isEmpty ? part : rest))
            }
        }
        return cookies
    }

    /// The codings of the content, or `nil` for none.
    private static func coding(_ fields: HeaderFields) -> String? {
        let codings = (fields.joined("Content-Encoding") ?? "").split(separator: ",")
            .map { $0.filter { $0 != " " }.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }

    /// The framing; `nil` if the length is not valid (RFC 9110 §8.6).
    private static func framing(_ fields: HeaderFields) -> BodyFraming? {
        if fields.contains("Transfer-Encoding") { return .chunked }
        guard let joined = fields.joined("Content-Length") else { return .untilClose }
        let lengths = Set(
            joined.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        )
        guard lengths.count == 1, let text = lengths.first, !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit),
            let length = Int64(text)
        else { return nil }
        return .length(length)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The header fields of tus 1.0.
///
/// - Source: the tus resumable upload protocol 1.0.0: core, creation, creation-with-upload, creation-defer-length,
///   expiration, checksum, termination.
enum TusProtocol {
    static let version = "1.0.0"
    static let extensions =
        "creation,creation-with-upload,creation-defer-length,expiration,checksum,termination"
    static let algorithms = "sha1,md5,sha256,sha512"
    static let contentType = "application/offset+octet-stream"

    /// Whether a request uses tus.
    static func isSpoken(_ fields: HeaderFields) -> Bool { fields["Tus-Resumable"] != nil }

    /// The method in `X-HTTP-Method-Override` of a tus POST, for clients that cannot send other methods.
    ///
    /// Only `PATCH` and `DELETE`, which change state as POST does. Other protocols than tus do not define the field.
    static func overridingMethod(_ head: RequestHead) -> String? {
        guard head.method == "POST", self.isSpoken(head.fields),
            let method = head.fields["X-HTTP-Method-Override"], method == "PATCH" || method == "DELETE"
        else { return nil }
        return method
    }

    /// The refusal of a request for another tus version; `nil` if the version matches.
    static func versionRefusal(_ fields: HeaderFields) -> UploadRefusal? {
        guard fields["Tus-Resumable"] != self.version else { return nil }
        return self.told(UploadRefusal(412, "only tus \(self.version) is spoken here", ["Tus-Version": self.version]))
    }

    /// Adds `Tus-Resumable` to a refusal: every response carries the version.
    static func told(_ refusal: UploadRefusal) -> UploadRefusal {
        var refusal = refusal
        if refusal.fields["Tus-Resumable"] == nil { refusal.fields.append("Tus-Resumable", self.version) }
        return refusal
    }

    /// The header fields of a response, starting with `Tus-Resumable`.
    static func fields(_ more: [(String, String)] = []) -> HeaderFields {
        HeaderFields([("Tus-Resumable", self.version)] + more)
    }

    /// The header fields of an OPTIONS response.
    static func capabilities(_ limits: ReceiverLimits) -> [(String, String)] {
        var fields = [
            ("Tus-Resumable", self.version), ("Tus-Version", self.version), ("Tus-Extension", self.extensions),
            ("Tus-Checksum-Algorithm", self.algorithms),
        ]
        if let limit = limits.upload { fields.append(("Tus-Max-Size", "\(limit)")) }
        return fields
    }

    /// Parses a number of bytes; `nil` if the field is missing.
    ///
    /// - Throws: ``UploadRefusal`` with 400 if the value is not a number.
    static func number(_ field: String?, _ name: String) throws(UploadRefusal) -> Int64? {
        guard let field else { return nil }
        guard let number = DecimalNumber.parse(field.utf8) else {
            throw UploadRefusal(400, "\(name) is not a number of bytes")
        }
        return number
    }

    /// Parses the digest in `Upload-Checksum`, such as `sha1 BASE64`.
    ///
    /// - Throws: ``UploadRefusal`` with 400 if the value is malformed or the algorithm is not supported.
    static func checksum(_ field: String?) throws(UploadRefusal) -> ExpectedDigest? {
        guard let field else { return nil }
        let words = field.split(separator: " ")
        guard words.count == 2, let algorithm = DigestAlgorithm(named: words[0].utf8), algorithm != .sha384,
            let bytes = Base64.decode(words[1].utf8), bytes.count == algorithm.byteCount
        else { throw UploadRefusal(400, "Upload-Checksum is not a digest by one of \(self.algorithms)") }
        return ExpectedDigest(algorithm: algorithm, bytes: bytes, source: "Upload-Checksum")
    }

    /// Parses the keys and values of `Upload-Metadata`.
    ///
    /// - Throws: ``UploadRefusal`` with 400 if a value is not Base64.
    static func metadata(_ field: String?) throws(UploadRefusal) -> [(key: String, value: String)] {
        guard let field else { return [] }
        var pairs: [(key: String, value: String)] = []
        for element in field.split(separator: ",") {
            let words = element.split(separator: " ")
            guard let key = words.first, words.count <= 2 else { throw Self.badMetadata }
            guard let bytes = words.count == 2 ? Base64.decode(words[1].utf8) : [] else { throw Self.badMetadata }
            pairs.append((String(key), String(decoding: bytes, as: UTF8.self)))
        }
        return pairs
    }

    private static let badMetadata = UploadRefusal(400, "Upload-Metadata is not a list of keys and Base64 values")
}

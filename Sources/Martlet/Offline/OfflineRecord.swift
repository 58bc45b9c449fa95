// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The stored data of one download in the list's file.
struct OfflineRecord: Codable, Sendable {
    /// The last decision about a download, which may differ from its current activity.
    enum Standing: String, Codable {
        case downloading
        case suspended
        case stopped
        case failed
        case finished
        /// Removed from the list, but its bytes may still exist.
        case removed
    }

    struct Failure: Codable {
        var code: String
        var message: String
        var remedy: String
        var isRetryable: Bool
        var status: Int?
        /// Not present in lists of older versions.
        var networkFailure: String?

        init(_ error: TransferError) {
            self.code = error.code.description
            self.message = error.message
            self.remedy = error.remedy
            self.isRetryable = error.isRetryable
            self.status = error.status
            self.networkFailure = error.networkFailure?.description
        }

        var error: TransferError {
            TransferError(
                .named(self.code),
                self.message,
                remedy: self.remedy,
                isRetryable: self.isRetryable,
                status: self.status,
                networkFailure: self.networkFailure.map { .named($0) }
            )
        }
    }

    struct Request: Codable {
        var url: String
        var mirrors: [String]
        var headers: [[String]]
        var referer: String?
        var priority: UInt8
        var requestTimeout: Duration?
        var resourceTimeout: Duration?
        var rateLimit: Int64?
        var digests: [[String]]
    }

    let id: String
    /// The file's name in the list's directory.
    var name: String
    var standing: Standing
    var isKept: Bool
    var userInfo: [String: String]
    var received: Int64
    var expected: Int64?
    var failure: Failure?
    let request: Request

    /// Whether the values are valid; the file may have been modified by another program.
    var isPlausible: Bool {
        !self.id.isEmpty && Self.isName(self.name) && self.received >= 0 && (self.expected ?? 0) >= 0
    }

    /// Whether a text is a single path component without control characters.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= FileName.longest
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x2F && $0 != 0x7F }
    }

    /// Whether a header field contains credentials.
    static func isSecret(_ name: String) -> Bool {
        switch name.lowercased() {
        case "authorization", "cookie", "proxy-authorization": true
        default: false
        }
    }
}

extension OfflineRecord.Request {
    /// The stored part of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - secrets: Whether its credentials are stored as well.
    init(_ request: TransferRequest, secrets: Bool) {
        self.url = secrets ? Self.whole(request.url) : request.url.withoutUserInfo
        self.mirrors = request.mirrors.map { secrets ? Self.whole($0) : $0.withoutUserInfo }
        self.headers = request.headers.filter { secrets || !OfflineRecord.isSecret($0.name) }
            .map { [$0.name, $0.value] }
        self.referer = request.referer?.withoutUserInfo
        self.priority = request.priority.rawValue
        self.requestTimeout = request.requestTimeout
        self.resourceTimeout = request.resourceTimeout
        self.rateLimit = request.rateLimit
        self.digests = request.expectedDigests.map {
            [$0.algorithm.rawValue, Hexadecimal.encode($0.bytes), $0.source]
        }
    }

    /// Creates the request.
    ///
    /// - Throws: ``TransferError`` if the stored data is not a valid request.
    func request() throws(TransferError) -> TransferRequest {
        var request = try TransferRequest(self.url)
        for mirror in self.mirrors { request.mirrors.append(try TransferRequest(mirror).url) }
        for field in self.headers where field.count == 2 { request.headers.append(field[0], field[1]) }
        if let referer { request.referer = try TransferRequest(referer).url }
        request.priority = Priority(rawValue: self.priority) ?? .normal
        request.requestTimeout = self.requestTimeout
        request.resourceTimeout = self.resourceTimeout
        request.rateLimit = self.rateLimit
        for digest in self.digests {
            guard digest.count == 3, let algorithm = DigestAlgorithm(rawValue: digest[0]),
                let bytes = Hexadecimal.decode(Array(digest[1].utf8))
            else { throw TransferError(.badRequest, "a digest in the list is invalid: \(digest)") }
            request.expectedDigests.append(ExpectedDigest(algorithm: algorithm, bytes: bytes, source: digest[2]))
        }
        try TransferSession.check(request)
        return request
    }

    /// The URL with its user information.
    private static func whole(_ url: HTTPURL) -> String {
        guard let user = url.user else { return url.withoutUserInfo }
        let information = Self.encoded(user) + (url.password.map { ":" + Self.encoded($0) } ?? "")
        return "\(url.scheme.name)://\(information)@\(url.hostField)\(url.requestTarget)"
    }

    private static func encoded(_ text: String) -> String {
        text.utf8
            .map { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: String(UnicodeScalar(byte))
                default: "%" + Hexadecimal.encode([byte])
                }
            }
            .joined()
    }
}

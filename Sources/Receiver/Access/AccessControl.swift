// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization
internal import TransferCore

/// Authenticates requests and checks their rights.
final class AccessControl: Sendable {
    /// The decision about a request.
    enum Verdict: Sendable {
        /// The request is allowed; the user is known if the credentials name one.
        case allowed(user: String?)
        /// The request is refused with this response.
        case refused(Response)
    }

    private let credentials: [AccessCredential]
    private let open: Rights
    private let policy: RequestPolicy
    private let sessionCookie: String
    private let limiter = Mutex(GuessLimiter())

    /// - Parameters:
    ///   - credentials: The credentials that are accepted.
    ///   - open: The rights of requests without credentials.
    ///   - policy: The accepted values of `Host` and `Origin`.
    ///   - sessionCookie: The name of the session cookie.
    init(credentials: [AccessCredential], open: Rights, policy: RequestPolicy, sessionCookie: String) {
        self.credentials = credentials
        self.open = open
        self.policy = policy
        self.sessionCookie = sessionCookie
    }

    /// Checks `Host` and `Origin`; returns the response if the request is refused.
    ///
    /// Prevents cross-site request forgery (a page of another origin writes with the user's credentials) and DNS
    /// rebinding (a page reads through a name that was made to resolve to this machine).
    func refusal(_ head: RequestHead, localAddress: String?) -> Response? {
        let hosts = head.fields.values("Host")
        // HTTP/1.0 does not require Host; HTTP/1.1 requires exactly one (RFC 9112 §3.2).
        if head.minorVersion == 0, hosts.isEmpty, head.fields["Origin"] == nil { return nil }
        guard hosts.count == 1 else { return .message(400, "exactly one Host field is needed") }
        let isSafe = head.method == "GET" || head.method == "HEAD" || head.method == "OPTIONS"
        let origins = isSafe ? [] : head.fields.values("Origin")
        switch self.policy.verdict(hosts: hosts, origins: origins, localAddress: localAddress) {
        case .heard: return nil
        case .refused(let reason): return .message(403, reason)
        }
    }

    /// The rights of a request, its user, and whether it carries an invalid credential; `nil` if it carries no valid one.
    func rights(_ fields: HeaderFields) -> (rights: Rights, user: String?, isPartlyWrong: Bool)? {
        if self.credentials.isEmpty { return (self.open, nil, false) }
        var rights = self.open
        var user: String?
        var showsWrong = false
        if let authorization = fields["Authorization"] {
            if let found = self.credential(authorization: authorization) {
                rights.formUnion(found.rights)
                user = found.user
            } else {
                showsWrong = true
            }
        }
        for value in self.sessions(fields) {
            if let found = self.credentials.first(where: { $0.kind != .basic && $0.check.accepts(value) }) {
                rights.formUnion(found.rights)
            } else {
                showsWrong = true
            }
        }
        return showsWrong && rights == self.open ? nil : (rights, user, showsWrong)
    }

    /// Checks a request for a right.
    ///
    /// - Parameters:
    ///   - fields: The request header fields.
    ///   - right: The right.
    ///   - peer: The client's address: credentials of one that guesses are refused unchecked.
    /// - Returns: The decision.
    func verdict(_ fields: HeaderFields, needs right: Rights, from peer: String) -> Verdict {
        var shown = Hasher()
        let hasCredentials = self.hash(fields, into: &shown)
        let now = ContinuousClock.now
        if hasCredentials, let wait = self.limiter.withLock({ $0.refusal(of: peer, at: now) }) {
            let seconds = max(1, wait.components.seconds + 1)
            return .refused(
                .message(
                    429,
                    "too many wrong credentials from your address; try again in \(seconds) s",
                    ["Retry-After": "\(seconds)"]
                )
            )
        }
        let found = self.rights(fields)
        if found?.isPartlyWrong ?? true {
            let credential = shown.finalize()
            self.limiter.withLock { $0.failed(peer, credential: credential, at: now) }
        }
        guard let (rights, user, _) = found else { return .refused(self.challenge("these credentials are not known")) }
        if rights.isSuperset(of: right) { return .allowed(user: user) }
        guard rights == self.open, !self.credentials.isEmpty else {
            return .refused(.message(403, "this is not allowed here"))
        }
        return .refused(self.challenge("credentials are needed"))
    }

    /// Hashes the credentials of a request; returns false if it has none.
    private func hash(_ fields: HeaderFields, into hasher: inout Hasher) -> Bool {
        guard !self.credentials.isEmpty else { return false }
        let shown = [fields["Authorization"]].compactMap { $0 } + self.sessions(fields)
        hasher.combine(shown)
        return !shown.isEmpty
    }

    private func challenge(_ message: String) -> Response {
        var fields = HeaderFields()
        if self.credentials.contains(where: { $0.kind == .token }) {
            fields.append("WWW-Authenticate", "Bearer realm=\"martlet\"")
        }
        // Every client supports Basic: a token can be sent as the password.
        fields.append("WWW-Authenticate", "Basic realm=\"martlet\", charset=\"UTF-8\"")
        return .message(401, message, fields)
    }

    /// - Source: RFC 6750 §2.1, RFC 7617 §2.
    private func credential(authorization: String) -> AccessCredential? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        let value = parts[1].drop { $0 == " " }
        switch parts[0].lowercased() {
        case "bearer":
            return self.credentials.first { $0.kind == .token && $0.check.accepts(String(value)) }
        case "basic":
            guard let bytes = Base64.decode(value.utf8), let colon = bytes.firstIndex(of: 0x3A) else { return nil }
            let whole = String(decoding: bytes, as: UTF8.self)
            let password = String(decoding: bytes[(colon + 1)...], as: UTF8.self)
            return self.credentials.first { credential in
                switch credential.kind {
                case .basic: credential.check.accepts(whole)
                case .token: credential.check.accepts(password)
                case .session: false
                }
            }
        default: return nil
        }
    }

    /// The values of the session cookie.
    ///
    /// - Source: RFC 6265 §4.2.
    private func sessions(_ fields: HeaderFields) -> [String] {
        guard self.credentials.contains(where: { $0.kind != .basic }) else { return [] }
        return RequestCookies.all(fields).filter { $0.name == self.sessionCookie }.map(\.value)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization
internal import TransferCore

/// Authenticates requests and checks their rights.
final class AccessControl: Sendable {
    private let credentials: [AccessCredential]
    private let open: Rights
    private let policy: RequestPolicy
    private let sessionCookie: String
    private let limiter = Mutex(GuessLimiter())
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let signInKey: SignInKey
    private let signOuts: SignOuts

    /// - Parameters:
    ///   - credentials: The credentials that are accepted.
    ///   - open: The rights of requests without credentials.
    ///   - policy: The accepted values of `Host` and `Origin`.
    ///   - sessionCookie: The name of the session cookie.
    ///   - rounds: The iterations of the slow hash for the sign-in cookie.
    ///   - signOuts: The cookies that have ended early.
    ///   - clock: The clock of the limit for guesses.
    init(
        credentials: [AccessCredential],
        open: Rights,
        policy: RequestPolicy,
        sessionCookie: String,
        rounds: Int = SignInKey.usualRounds,
        signOuts: SignOuts = SignOuts(nil) { Double(Timestamp.now) },
        clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.credentials = credentials
        self.open = open
        self.policy = policy
        self.sessionCookie = sessionCookie
        self.signInKey = SignInKey(credentials, rounds: rounds)
        self.signOuts = signOuts
        self.clock = clock
    }

    /// Whether there are credentials that a person can enter.
    var takesSignIn: Bool { self.credentials.contains { $0.kind != .session } }

    /// Whether some of them have a user name.
    var hasUserNames: Bool { self.credentials.contains { $0.kind == .basic } }

    /// Derives the key of the cookies before it is needed; takes a part of a second.
    func prepare() { if self.takesSignIn { _ = self.signInKey.cookie } }

    /// Checks `Host` and `Origin`; returns the response if the request is refused.
    ///
    /// Prevents cross-site request forgery (a page of another origin writes with the user's credentials) and DNS
    /// rebinding (a page reads through a name that was made to resolve to this machine).
    ///
    /// - Parameters:
    ///   - head: The request head.
    ///   - localAddress: The local address of the connection.
    ///   - authority: The host that the client addressed, if a trusted proxy reports one. It must be accepted like that
    ///     of `Host`: a page could add the field to its requests.
    /// - Returns: The response, or `nil`.
    func refusal(_ head: RequestHead, localAddress: String?, authority: String? = nil) -> Response? {
        let hosts = head.fields.values("Host")
        // HTTP/1.0 does not require Host; HTTP/1.1 requires exactly one (RFC 9112 §3.2).
        if head.minorVersion == 0, hosts.isEmpty, head.fields["Origin"] == nil { return nil }
        guard hosts.count == 1 else { return .message(400, "exactly one Host field is needed") }
        let isSafe = head.method == "GET" || head.method == "HEAD" || head.method == "OPTIONS"
        let origins = isSafe ? [] : head.fields.values("Origin")
        if authority != nil,
            case .refused(let reason) = self.policy.verdict(
                hosts: hosts,
                origins: [],
                localAddress: localAddress
            )
        {
            return .message(403, reason)
        }
        let addressed = authority.map { [$0] } ?? hosts
        if case .refused(let reason) = self.policy.verdict(
            hosts: addressed,
            origins: origins,
            localAddress: localAddress
        ) {
            return .message(403, reason)
        }
        // `SameSite` does not protect from pages of other ports of the same host; browsers send `Origin` with all of
        // these requests.
        guard !isSafe, origins.isEmpty, self.isSignedIn(head.fields) else { return nil }
        return .message(
            403,
            "a request with the cookie of a sign-in needs an Origin field; or send the credential itself"
        )
    }

    // MARK: Signing in

    /// The result of an attempt to sign in.
    enum SignIn: Sendable {
        /// The value of `Set-Cookie`.
        case signedIn(cookie: String)
        /// The credential is wrong.
        case wrong
        /// The address guesses: the number of seconds until its next attempt is checked.
        case delayed(seconds: Int64)
    }

    /// Checks what a person has entered; may take a part of a second.
    ///
    /// - Parameters:
    ///   - name: The user's name; empty for a token.
    ///   - password: The password, or a token.
    ///   - request: The request.
    /// - Returns: The result.
    func signIn(_ name: String, _ password: String, _ request: Request) -> SignIn {
        let shown = [name, password]
        let attempt: Attempt
        switch self.attempt(by: request.peer, showing: shown) {
        case .checked(let admitted): attempt = admitted
        case .delayed(let seconds): return .delayed(seconds: seconds)
        }
        let found = self.credentials.first { credential in
            switch credential.kind {
            case .basic: credential.check.accepts("\(name):\(password)")
            case .token: credential.check.accepts(password)
            case .session: false
            }
        }
        self.finished(attempt, wrong: found == nil ? [shown] : [])
        guard let found else { return .wrong }
        let cookie = self.signInKey.cookie
        let value = cookie.value(
            subject: cookie.subject(of: found.check.bytes),
            now: Double(Timestamp.now),
            signOuts: self.signOuts
        )
        return .signedIn(cookie: self.field(value, request))
    }

    /// Ends the cookies of a request; blocks.
    ///
    /// - Returns: The value of `Set-Cookie` that deletes the cookie, and the error if the sign-out was not stored: it
    ///   ends with the receiver then.
    func signOut(_ request: Request) -> (cookie: String, failure: StorageError?) {
        let cookies = self.signInKey.cookie.all(request.fields, now: Double(Timestamp.now), signOuts: self.signOuts)
        var failure: StorageError?
        do throws(StorageError) {
            try self.signOuts.add(Array(cookies))
        } catch {
            failure = error
        }
        return (self.field("", request), failure)
    }

    private func field(_ value: String, _ request: Request) -> String {
        self.signInKey.cookie.field(value, path: request.basePath + "/", isSecure: request.isSecure)
    }

    /// Whether a request has the cookie of a sign-in.
    func isSignedIn(_ fields: HeaderFields) -> Bool { self.signedIn(fields) != nil }

    /// Whether a request has a valid credential, or none is needed for anything.
    func isKnown(_ fields: HeaderFields) -> Bool {
        if self.credentials.isEmpty { return self.open == .all }
        return self.rights(fields)?.isKnown ?? false
    }

    private func signedIn(_ fields: HeaderFields) -> AccessCredential? {
        guard self.takesSignIn, fields.contains("Cookie") else { return nil }
        let cookie = self.signInKey.cookie
        let now = Double(Timestamp.now)
        guard let subject = cookie.check(fields, now: now, signOuts: self.signOuts)?.subject else { return nil }
        return self.credentials.first { cookie.subject(of: $0.check.bytes) == subject }
    }

    // MARK: Guesses

    /// Credentials that may be checked.
    struct Attempt: Sendable {
        fileprivate let peer: String
        fileprivate let slot: ContinuousClock.Instant?
    }

    /// Whether credentials may be checked.
    enum Admission: Sendable {
        /// They may; ``finished(_:wrong:)`` must follow.
        case checked(Attempt)
        /// The address guesses: the number of seconds until its next credential is checked.
        case delayed(seconds: Int64)
    }

    /// Decides whether credentials may be checked.
    ///
    /// - Parameters:
    ///   - peer: The client's address.
    ///   - credentials: The credentials that the client presents.
    /// - Returns: The decision.
    func attempt(by peer: String, showing credentials: [String]) -> Admission {
        let now = self.clock()
        switch self.limiter.withLock({ $0.admit(peer, credential: credentials.hashValue, at: now) }) {
        case .checked(let slot): return .checked(Attempt(peer: peer, slot: slot))
        case .refused(let time):
            let (seconds, rest) = time.components
            return .delayed(seconds: max(1, seconds + (rest > 0 ? 1 : 0)))
        }
    }

    /// Reports the result of a check.
    ///
    /// - Parameters:
    ///   - attempt: The admitted credentials.
    ///   - wrong: The wrong credentials, each of which counts; empty if all are right.
    func finished(_ attempt: Attempt, wrong: [[String]]) {
        let now = self.clock()
        self.limiter.withLock { limiter in
            if wrong.isEmpty { limiter.succeeded(attempt.peer, slot: attempt.slot) }
            for credential in wrong { limiter.failed(attempt.peer, credential: credential.hashValue, at: now) }
        }
    }

    /// The response to credentials of an address that guesses.
    static func delayed(_ seconds: Int64) -> Response {
        .message(
            429,
            "too many wrong credentials from your address; try again in \(seconds) s",
            ["Retry-After": "\(seconds)"]
        )
    }

    // MARK: Rights

    /// The client of a request.
    struct Standing: Sendable {
        var rights: Rights
        /// The user, if a credential names one.
        var user: String?
        /// Its invalid credentials.
        var wrong: [String] = []
        /// Whether one of its credentials is valid.
        var isKnown = false
    }

    /// The client of a request; `nil` if it has credentials and none is valid.
    ///
    /// - Precondition: ``refusal(of:needs:)`` has admitted the credentials.
    func rights(_ fields: HeaderFields) -> Standing? {
        let standing = self.standing(fields)
        return standing.isKnown || standing.wrong.isEmpty ? standing : nil
    }

    private func standing(_ fields: HeaderFields) -> Standing {
        var standing = Standing(rights: self.open)
        if self.credentials.isEmpty { return standing }
        func add(_ found: AccessCredential?, _ shown: String) {
            guard let found else {
                standing.wrong.append(shown)
                return
            }
            standing.rights.formUnion(found.rights)
            standing.user = standing.user ?? found.user
            standing.isKnown = true
        }
        if let authorization = fields["Authorization"] {
            add(self.credential(authorization: authorization), authorization)
        }
        for value in self.sessions(fields) {
            add(self.credentials.first { $0.kind != .basic && $0.check.accepts(value) }, value)
        }
        // An expired cookie does not count as a guess.
        if let found = self.signedIn(fields) { add(found, "") }
        return standing
    }

    /// Checks a request for a right, and sets its user.
    ///
    /// The credentials of an address that guesses are refused unchecked. A signed-in client is not refused: its cookie
    /// is not a guess. Other credentials in its request are then removed unchecked.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - right: The right.
    /// - Returns: The response if the request is refused.
    func refusal(of request: inout Request, needs right: Rights) -> Response? {
        let shown = self.shown(request.fields)
        var attempt: Attempt?
        if !shown.isEmpty {
            switch self.attempt(by: request.peer, showing: shown) {
            case .checked(let admitted): attempt = admitted
            case .delayed(let seconds):
                guard let found = self.signedIn(request.fields), found.rights.union(self.open).isSuperset(of: right)
                else { return Self.delayed(seconds) }
                self.removeShown(&request.head.fields)
            }
        }
        let found = self.standing(request.fields)
        if let attempt { self.finished(attempt, wrong: found.wrong.map { [$0] }) }
        if !found.isKnown, !found.wrong.isEmpty { return self.challenge("these credentials are not known") }
        guard found.rights.isSuperset(of: right) else {
            return found.isKnown || self.credentials.isEmpty
                ? .message(403, "this is not allowed here") : self.challenge("credentials are needed")
        }
        request.user = found.user
        return nil
    }

    /// The credentials of a request, except the cookie of a sign-in.
    private func shown(_ fields: HeaderFields) -> [String] {
        self.credentials.isEmpty ? [] : [fields["Authorization"]].compactMap { $0 } + self.sessions(fields)
    }

    private func removeShown(_ fields: inout HeaderFields) {
        let others = RequestCookies.all(fields).filter { $0.name != self.sessionCookie }
        fields.remove("Authorization")
        fields.remove("Cookie")
        fields.append("Cookie", others.map { "\($0.name)=\($0.value)" }.joined(separator: "; "))
    }

    /// Refuses a request without a valid credential.
    func refusalOfUnknown(_ fields: HeaderFields) -> Response? {
        if self.isKnown(fields) { return nil }
        return self.credentials.isEmpty
            ? .message(403, "this is not allowed here") : self.challenge("credentials are needed")
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

    /// The values of the session cookie that are checked.
    ///
    /// A browser can have two, for different paths. More would be as many guesses in one request.
    ///
    /// - Source: RFC 6265 §4.2, §5.4.
    private func sessions(_ fields: HeaderFields) -> [String] {
        guard self.credentials.contains(where: { $0.kind != .basic }) else { return [] }
        return RequestCookies.all(fields).filter { $0.name == self.sessionCookie }.prefix(2).map(\.value)
    }
}

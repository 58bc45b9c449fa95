// SPDX-License-Identifier: Apache-2.0
/// Decides which credentials a request carries, and how a challenge is answered; keeps accepted credentials.
///
/// Pure value: the hash functions and the random client nonces are arguments.
///
/// - Source: RFC 9110 §11; RFC 7616; RFC 7617.
package struct AuthenticationMachine: Sendable {
    private struct Entry {
        var credential: Credential
        var digest: DigestAuthentication?
        /// The path below which the credentials are sent without a challenge (RFC 7617 §2.2).
        var directory: String
    }

    /// The credentials of one request.
    private struct Sent {
        var credential: Credential
        /// The space that they were for; `nil` for credentials that are sent without a challenge.
        var space: ProtectionSpace?
        /// Whether this request was challenged before, so that they are not merely sent ahead.
        var isResponse: Bool
    }

    /// Credentials that a delegate supplied for a transfer.
    private struct Supplied {
        var entry: Entry
        /// The space as the delegate saw it: a response may name several.
        var challenged: ProtectionSpace
    }

    /// The credentials that one transfer has tried.
    private struct Trial {
        var sent: Sent?
        var refused: Set<Credential> = []
        /// Credentials for this transfer only.
        var own: [ProtectionSpace: Entry] = [:]
        /// The delegates' credentials, without the refused ones.
        var supplied: [ProtectionSpace: Supplied] = [:]
        /// The number of refusals of what the delegates supplied.
        var refusals: [ProtectionSpace: Int] = [:]
        /// The last challenged URL, and the space whose credentials it gets.
        var challenged: (url: HTTPURL, space: ProtectionSpace)?
    }

    /// The scope of credentials that a delegate supplied.
    package enum Scope: Hashable, Sendable {
        /// All transfers.
        case all
        /// The challenged transfer.
        case transfer
    }

    /// The next step after a challenge.
    package enum Step: Equatable, Sendable {
        /// Repeat the request.
        case `repeat`
        /// Request credentials from the delegates.
        case ask(ProtectionSpace, schemes: [String], refusals: Int)
    }

    private let sources: CredentialSources
    private let hash: DigestAuthentication.Hash
    private var spaces: [Origin: [ProtectionSpace: Entry]] = [:]
    private var trials: [TransferID: Trial] = [:]
    /// The last nonce of each space and its use count: a server may send it again after a refusal.
    private var nonces: [ProtectionSpace: (nonce: String, count: UInt32)] = [:]

    /// Creates a machine without accepted credentials.
    ///
    /// - Parameters:
    ///   - sources: The credentials that may be used.
    ///   - hash: Computes digests.
    package init(_ sources: CredentialSources, hash: @escaping DigestAuthentication.Hash) {
        self.sources = sources
        self.hash = hash
    }

    /// The number of transfers whose attempts are remembered.
    package var trialCount: Int { self.trials.count }

    /// Forgets the credentials that servers have accepted; transfers that run keep theirs.
    package mutating func forget() { self.spaces = [:] }

    // MARK: Requests

    /// The Authorization field for a request, or `nil`.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - clientNonce: Returns a random nonce for Digest.
    /// - Returns: The value of the field.
    package mutating func authorization(for request: RequestFacts, clientNonce: () -> String) -> String? {
        let origin = request.url.origin
        var trial = self.trials[request.id] ?? Trial()
        let isKnown = self.trials[request.id] != nil
        defer { if isKnown || trial.sent != nil { self.trials[request.id] = trial } }
        trial.sent = nil
        let wanted = trial.challenged.flatMap { $0.url == request.url ? $0.space : nil }
        if let wanted, let supplied = trial.supplied[wanted],
            (trial.own[wanted] ?? self.spaces[origin]?[wanted])?.credential != supplied.entry.credential
        {
            // Another task has replaced them since this task's delegate supplied them.
            trial.own[wanted] = supplied.entry
        }
        if let space = Self.best(trial.own, origin, request.url.path, wanted) {
            let (value, credential) = Self.use(&trial.own[space], request, clientNonce)
            trial.sent = credential.map { Sent(credential: $0, space: space, isResponse: space == wanted) }
            return value
        }
        if var spaces = self.spaces[origin], let space = Self.best(spaces, origin, request.url.path, wanted) {
            let (value, credential) = Self.use(&spaces[space], request, clientNonce)
            self.spaces[origin] = spaces
            trial.sent = credential.map { Sent(credential: $0, space: space, isResponse: space == wanted) }
            return value
        }
        guard let ahead = self.ahead(request), !trial.refused.contains(ahead) else { return nil }
        trial.sent = Sent(credential: ahead, space: nil, isResponse: false)
        return ahead.authorization
    }

    /// The credentials to send without a challenge, or `nil`.
    private func ahead(_ request: RequestFacts) -> Credential? {
        if let token = self.sources.configured.token(for: request.url.origin) { return token }
        guard self.sources.sendsAhead, !self.sources.usesDigestOnly else { return nil }
        return self.sources.password(for: request)
    }

    private static func best(
        _ spaces: [ProtectionSpace: Entry],
        _ origin: Origin,
        _ path: String,
        _ wanted: ProtectionSpace?
    ) -> ProtectionSpace? {
        if let wanted, spaces[wanted] != nil { return wanted }
        return spaces.filter { $0.key.origin == origin && path.hasPrefix($0.value.directory) }
            .max { $0.value.directory.utf8.count < $1.value.directory.utf8.count }?
            .key
    }

    private static func use(
        _ entry: inout Entry?,
        _ request: RequestFacts,
        _ clientNonce: () -> String
    ) -> (String?, Credential?) {
        guard let known = entry else { return (nil, nil) }
        guard case .password(let user, let password) = known.credential, known.digest != nil else {
            return (known.credential.authorization, known.credential)
        }
        let value = entry?.digest?
            .authorization(
                user: user,
                password: password,
                method: request.method,
                requestTarget: request.url.requestTarget,
                clientNonce: clientNonce()
            )
        return (value, known.credential)
    }

    // MARK: Challenges

    /// Decides about a challenge with the known credentials.
    ///
    /// - Parameters:
    ///   - head: The response (401).
    ///   - request: The request.
    /// - Returns: The next step.
    package mutating func challenged(_ head: ResponseHead, _ request: RequestFacts) -> Step {
        let challenges = AuthenticationChallenge.parse(head.fields.values("WWW-Authenticate"))
        let origin = request.url.origin
        var trial = self.trials[request.id] ?? Trial()
        defer { self.trials[request.id] = trial }
        if let sent = trial.sent, self.isRefused(sent, by: challenges, origin) {
            if Self.isStale(challenges), let stale = self.strongest(of: challenges, for: sent.credential) {
                // The password is correct; only the nonce has expired.
                let space = ProtectionSpace(origin: origin, realm: stale.realm)
                let entry = self.entry(sent.credential, stale, request)
                if trial.own[space] != nil {
                    trial.own[space] = entry
                } else {
                    self.spaces[origin, default: [:]][space] = entry
                }
                trial.challenged = (request.url, space)
                return .repeat
            }
            self.refused(sent, &trial, origin)
        }
        trial.sent = nil
        for challenge in challenges {
            let space = ProtectionSpace(origin: origin, realm: challenge.realm)
            for candidate in self.candidates(space, request) where !trial.refused.contains(candidate) {
                guard let chosen = self.strongest(of: challenges, for: candidate) else { continue }
                let chosenSpace = ProtectionSpace(origin: origin, realm: chosen.realm)
                self.spaces[origin, default: [:]][chosenSpace] = self.entry(candidate, chosen, request)
                trial.challenged = (request.url, chosenSpace)
                return .repeat
            }
        }
        let (space, schemes) = Self.shown(challenges, origin)
        return .ask(space, schemes: schemes, refusals: trial.refusals[space] ?? 0)
    }

    /// Whether a challenge refuses credentials that were sent.
    ///
    /// Credentials that were sent ahead to another realm are not for it, and a password that was sent by Basic can still
    /// be used for Digest if the server does not accept Basic.
    private func isRefused(_ sent: Sent, by challenges: [AuthenticationChallenge], _ origin: Origin) -> Bool {
        if sent.isResponse { return true }
        if let space = sent.space {
            return challenges.contains { ProtectionSpace(origin: origin, realm: $0.realm) == space }
        }
        guard case .password = sent.credential else { return true }
        return challenges.contains { $0.scheme == "basic" }
    }

    private func strongest(
        of challenges: [AuthenticationChallenge],
        for credential: Credential
    ) -> AuthenticationChallenge? {
        guard self.sources.usesDigestOnly, case .password = credential else {
            return AuthenticationChallenge.strongest(of: challenges, for: credential)
        }
        return AuthenticationChallenge.strongest(of: challenges.filter { $0.scheme == "digest" }, for: credential)
    }

    private mutating func refused(_ sent: Sent, _ trial: inout Trial, _ origin: Origin) {
        trial.refused.insert(sent.credential)
        self.note(trial.own)
        self.note(self.spaces[origin] ?? [:])
        trial.own = trial.own.filter { $0.value.credential != sent.credential }
        self.spaces[origin] = self.spaces[origin]?.filter { $0.value.credential != sent.credential }
        guard let space = sent.space, let supplied = trial.supplied[space],
            supplied.entry.credential == sent.credential
        else { return }
        trial.supplied[space] = nil
        trial.refusals[supplied.challenged, default: 0] += 1
    }

    private mutating func note(_ entries: [ProtectionSpace: Entry]) {
        for (space, entry) in entries {
            if let digest = entry.digest { self.nonces[space] = (digest.nonce, digest.nonceCount) }
        }
    }

    /// The space and the schemes of a response's challenges, as a delegate sees them.
    private static func shown(
        _ challenges: [AuthenticationChallenge],
        _ origin: Origin
    ) -> (space: ProtectionSpace, schemes: [String]) {
        let known = ["digest", "basic", "bearer"]
        let schemes = known.filter { scheme in challenges.contains { $0.scheme == scheme } }
        let realm = challenges.first { schemes.contains($0.scheme) }?.realm ?? challenges.first?.realm
        return (ProtectionSpace(origin: origin, realm: realm), schemes)
    }

    private func candidates(_ space: ProtectionSpace, _ request: RequestFacts) -> [Credential] {
        var candidates: [Credential] = []
        if let known = self.spaces[space.origin]?[space] { candidates.append(known.credential) }
        if let password = self.sources.password(for: request) { candidates.append(password) }
        if let configured = self.sources.configured.credential(for: space) { candidates.append(configured) }
        return candidates
    }

    private static func isStale(_ challenges: [AuthenticationChallenge]) -> Bool {
        challenges.contains { $0.scheme == "digest" && ($0.parameters["stale"]?.lowercased() == "true") }
    }

    private func entry(_ credential: Credential, _ challenge: AuthenticationChallenge, _ request: RequestFacts) -> Entry
    {
        let path = request.url.path
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
        let used = self.nonces[ProtectionSpace(origin: request.url.origin, realm: challenge.realm)]
        let count = used.map { $0.nonce == challenge.parameters["nonce"] ? $0.count : 0 } ?? 0
        let digest =
            challenge.scheme == "digest"
            ? DigestAuthentication(challenge, nonceCount: count, hash: self.hash) : nil
        return Entry(credential: credential, digest: digest, directory: directory)
    }

    // MARK: Delegates

    /// Uses credentials that a delegate supplied for a challenge.
    ///
    /// - Parameters:
    ///   - credential: The credentials.
    ///   - scope: The transfers for which they are.
    ///   - head: The challenging response.
    ///   - request: The challenged request.
    /// - Returns: Whether the server offers a scheme for them, so that the request can be repeated.
    package mutating func use(
        _ credential: Credential,
        _ scope: Scope,
        for head: ResponseHead,
        _ request: RequestFacts
    ) -> Bool {
        let challenges = AuthenticationChallenge.parse(head.fields.values("WWW-Authenticate"))
        guard let chosen = self.strongest(of: challenges, for: credential) else { return false }
        let origin = request.url.origin
        let space = ProtectionSpace(origin: origin, realm: chosen.realm)
        let entry = self.entry(credential, chosen, request)
        var trial = self.trials[request.id] ?? Trial()
        trial.supplied[space] = Supplied(entry: entry, challenged: Self.shown(challenges, origin).space)
        trial.challenged = (request.url, space)
        switch scope {
        case .all:
            trial.own[space] = nil
            self.spaces[origin, default: [:]][space] = entry
        case .transfer: trial.own[space] = entry
        }
        self.trials[request.id] = trial
        return true
    }

    /// Forgets the credentials that an ended transfer has tried.
    package mutating func ended(_ id: TransferID) { self.trials[id] = nil }
}

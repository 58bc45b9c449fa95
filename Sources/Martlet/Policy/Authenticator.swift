// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Crypto
internal import Synchronization
internal import TransferEngine

/// Handles a session's authentication challenges, and caches accepted credentials.
final class Authenticator: Sendable {
    private struct Entry {
        var credential: Credential
        var digest: DigestAuthentication?
        /// The path below which the credentials are sent without a challenge (RFC 7617 §2.2).
        var directory: String
    }

    /// The credentials of one request.
    private struct Sent {
        var credential: Credential
        /// The space that they were for; `nil` for a token that is sent without a challenge.
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

    private struct State {
        var spaces: [Origin: [ProtectionSpace: Entry]] = [:]
        var trials: [TransferID: Trial] = [:]
        /// The last nonce of each space and its use count: a server may send it again after a refusal.
        var nonces: [ProtectionSpace: (nonce: String, count: UInt32)] = [:]

        mutating func note(_ entries: [ProtectionSpace: Entry]) {
            for (space, entry) in entries {
                if let digest = entry.digest { self.nonces[space] = (digest.nonce, digest.nonceCount) }
            }
        }
    }

    /// The next step after a challenge.
    enum Step {
        /// Repeat the request.
        case `repeat`
        /// Request credentials from the delegates.
        case ask(ProtectionSpace, schemes: [String], refusals: Int)
    }

    private let credentials: Credentials
    /// Whether there are credentials at all: most sessions never receive a challenge.
    private let isInUse: Atomic<Bool>
    private let state = Mutex(State())

    init(_ credentials: Credentials) {
        self.credentials = credentials
        self.isInUse = Atomic(!credentials.isEmpty)
    }

    /// The Authorization field for a request, or `nil`.
    func authorization(for request: RequestFacts) -> String? {
        guard self.isInUse.load(ordering: .acquiring) else { return nil }
        let origin = request.url.origin
        return self.state.withLock { state in
            var trial = state.trials[request.id] ?? Trial()
            let isKnown = state.trials[request.id] != nil
            defer { if isKnown || trial.sent != nil { state.trials[request.id] = trial } }
            trial.sent = nil
            let wanted = trial.challenged.flatMap { $0.url == request.url ? $0.space : nil }
            if let wanted, let supplied = trial.supplied[wanted],
                (trial.own[wanted] ?? state.spaces[origin]?[wanted])?.credential != supplied.entry.credential
            {
                // Another task has replaced them since this task's delegate supplied them.
                trial.own[wanted] = supplied.entry
            }
            if let space = Self.best(trial.own, origin, request.url.path, wanted) {
                let (value, credential) = Self.use(&trial.own[space], request)
                trial.sent = credential.map { Sent(credential: $0, space: space, isResponse: space == wanted) }
                return value
            }
            if var spaces = state.spaces[origin], let space = Self.best(spaces, origin, request.url.path, wanted) {
                let (value, credential) = Self.use(&spaces[space], request)
                state.spaces[origin] = spaces
                trial.sent = credential.map { Sent(credential: $0, space: space, isResponse: space == wanted) }
                return value
            }
            guard let token = self.credentials.token(for: origin), !trial.refused.contains(token) else { return nil }
            trial.sent = Sent(credential: token, space: nil, isResponse: false)
            return token.authorization
        }
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

    private static func use(_ entry: inout Entry?, _ request: RequestFacts) -> (String?, Credential?) {
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
                clientNonce: Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: 0...255) })
            )
        return (value, known.credential)
    }

    /// Decides about a challenge with the known credentials.
    func challenged(_ head: ResponseHead, _ request: RequestFacts) -> Step {
        self.isInUse.store(true, ordering: .releasing)
        let challenges = AuthenticationChallenge.parse(head.fields.values("WWW-Authenticate"))
        let origin = request.url.origin
        return self.state.withLock { state in
            var trial = state.trials[request.id] ?? Trial()
            defer { state.trials[request.id] = trial }
            let named = Set(challenges.map { ProtectionSpace(origin: origin, realm: $0.realm) })
            // Credentials that were sent ahead to another realm are not refused: they are not for it.
            if let sent = trial.sent, sent.isResponse || sent.space.map({ named.contains($0) }) ?? true {
                if Self.isStale(challenges),
                    let stale = AuthenticationChallenge.strongest(of: challenges, for: sent.credential)
                {
                    // The password is correct; only the nonce has expired.
                    let space = ProtectionSpace(origin: origin, realm: stale.realm)
                    let isOwn = trial.own[space] != nil
                    let entry = Self.entry(sent.credential, stale, request, state)
                    if isOwn { trial.own[space] = entry } else { state.spaces[origin, default: [:]][space] = entry }
                    trial.challenged = (request.url, space)
                    return .repeat
                }
                self.refused(sent, &trial, &state, origin)
            }
            trial.sent = nil
            for challenge in challenges {
                let space = ProtectionSpace(origin: origin, realm: challenge.realm)
                for candidate in self.candidates(space, state, request) where !trial.refused.contains(candidate) {
                    guard let chosen = AuthenticationChallenge.strongest(of: challenges, for: candidate) else {
                        continue
                    }
                    let chosenSpace = ProtectionSpace(origin: origin, realm: chosen.realm)
                    state.spaces[origin, default: [:]][chosenSpace] = Self.entry(candidate, chosen, request, state)
                    trial.challenged = (request.url, chosenSpace)
                    return .repeat
                }
            }
            let (space, schemes) = Self.shown(challenges, origin)
            return .ask(space, schemes: schemes, refusals: trial.refusals[space] ?? 0)
        }
    }

    private func refused(_ sent: Sent, _ trial: inout Trial, _ state: inout State, _ origin: Origin) {
        trial.refused.insert(sent.credential)
        state.note(trial.own)
        state.note(state.spaces[origin] ?? [:])
        trial.own = trial.own.filter { $0.value.credential != sent.credential }
        state.spaces[origin] = state.spaces[origin]?.filter { $0.value.credential != sent.credential }
        guard let space = sent.space, let supplied = trial.supplied[space],
            supplied.entry.credential == sent.credential
        else { return }
        trial.supplied[space] = nil
        trial.refusals[supplied.challenged, default: 0] += 1
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

    private func candidates(_ space: ProtectionSpace, _ state: State, _ request: RequestFacts) -> [Credential] {
        var candidates: [Credential] = []
        if let known = state.spaces[space.origin]?[space] { candidates.append(known.credential) }
        if let user = request.source.user, request.source.origin == space.origin {
            candidates.append(.password(user: user, password: request.source.password ?? ""))
        }
        if let configured = self.credentials.credential(for: space) { candidates.append(configured) }
        return candidates
    }

    private static func isStale(_ challenges: [AuthenticationChallenge]) -> Bool {
        challenges.contains { $0.scheme == "digest" && ($0.parameters["stale"]?.lowercased() == "true") }
    }

    private static func entry(
        _ credential: Credential,
        _ challenge: AuthenticationChallenge,
        _ request: RequestFacts,
        _ state: State
    ) -> Entry {
        let path = request.url.path
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
        let used = state.nonces[ProtectionSpace(origin: request.url.origin, realm: challenge.realm)]
        let count = used.map { $0.nonce == challenge.parameters["nonce"] ? $0.count : 0 } ?? 0
        let digest =
            challenge.scheme == "digest"
            ? DigestAuthentication(challenge, nonceCount: count) { algorithm, bytes in
                algorithm == .sha256 ? Array(SHA256.hash(data: bytes)) : Array(Insecure.MD5.hash(data: bytes))
            } : nil
        return Entry(credential: credential, digest: digest, directory: directory)
    }

    /// Uses credentials that a delegate supplied for a challenge.
    ///
    /// - Returns: Whether the server offers a scheme for them, so that the request can be repeated.
    func use(
        _ credential: Credential,
        _ persistence: CredentialPersistence,
        for head: ResponseHead,
        _ request: RequestFacts
    ) -> Bool {
        let challenges = AuthenticationChallenge.parse(head.fields.values("WWW-Authenticate"))
        guard let chosen = AuthenticationChallenge.strongest(of: challenges, for: credential) else { return false }
        let origin = request.url.origin
        let space = ProtectionSpace(origin: origin, realm: chosen.realm)
        self.state.withLock { state in
            let entry = Self.entry(credential, chosen, request, state)
            var trial = state.trials[request.id] ?? Trial()
            trial.supplied[space] = Supplied(entry: entry, challenged: Self.shown(challenges, origin).space)
            trial.challenged = (request.url, space)
            switch persistence {
            case .session:
                trial.own[space] = nil
                state.spaces[origin, default: [:]][space] = entry
            case .task: trial.own[space] = entry
            }
            state.trials[request.id] = trial
        }
        return true
    }

    /// Forgets the credentials that an ended transfer has tried.
    func ended(_ id: TransferID) {
        guard self.isInUse.load(ordering: .acquiring) else { return }
        self.state.withLock { _ = $0.trials.removeValue(forKey: id) }
    }
}

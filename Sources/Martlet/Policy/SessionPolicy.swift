// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Files
internal import Logging
internal import Synchronization
package import TransferCore
internal import TransferEngine

/// A session's policy for its transfers: cookies, credentials, and the decisions of its delegates.
///
/// The daemon's sessions use it as well: a transfer without a task has no delegates, and its challenges are handled
/// with the configured credentials.
package final class SessionPolicy: TransferPolicy {
    private let cookies: CookieStorage?
    private let keeper: (any ForeignCookies)?
    private let acceptance: SessionConfiguration.CookieAcceptance
    private let authenticator: Authenticator
    private let logger: Logger?
    private let hasAdapter: Bool
    private let retrier: (any RequestRetrier)?
    private let onConnection: (@Sendable (ConnectionReport, TransferTask) -> Void)?
    private let onCookies: (@Sendable ([String], RequestFacts) -> Void)?

    /// Creates the policy of a configuration.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - onCookies: Called with the `Set-Cookie` values of a response after its cookies were stored.
    package init(
        _ configuration: SessionConfiguration,
        onCookies: (@Sendable ([String], RequestFacts) -> Void)? = nil
    ) {
        self.onCookies = onCookies
        self.logger = configuration.logger
        self.hasAdapter = configuration.adapter != nil
        self.retrier = configuration.retrier
        self.onConnection = configuration.onConnection
        self.cookies = configuration.cookies
        self.keeper = configuration.foreignCookies
        self.acceptance = configuration.cookieAcceptance
        var sources = CredentialSources()
        sources.configured = configuration.credentials
        self.authenticator = Authenticator(sources) { RunningDigest.hash($0, $1) }
    }

    /// The fields with cookies and credentials for a request.
    package func fields(for request: RequestFacts) -> [(String, String)] {
        var fields: [(String, String)] = []
        let cookies =
            self.keeper.map { $0.field(for: request.url, of: Self.task(request)) }
            ?? self.cookies?.store.field(for: request.url)
        if let cookies { fields.append(("Cookie", cookies)) }
        if let value = self.authenticator.authorization(for: request) { fields.append(("Authorization", value)) }
        return fields
    }

    /// Stores the response's cookies.
    package func received(_ head: ResponseHead, to request: RequestFacts) {
        if head.status == 304 || request.method == "HEAD" {
            // No delegate decides about these responses, and yet the task may end with one of them.
            Self.task(request)?.heard(TransferResponse(to: request, head: head, expectedLength: nil))
        }
        if let keeper = self.keeper { return keeper.received(head.fields, from: request.url, of: Self.task(request)) }
        guard let cookies = self.cookies else { return }
        let values = head.fields.values("Set-Cookie")
        guard !values.isEmpty else { return }
        switch self.acceptance {
        case .always: break
        case .onlyFromFirstHost: if request.url.host != request.source.host { return }
        case .never: return
        }
        cookies.receive(values, from: request.url, logger: self.logger)
        self.onCookies?(values, request)
    }

    /// Forgets the credentials that delegates have supplied; cookies and those of the configuration stay.
    package func forgetCredentials() { self.authenticator.forget() }

    /// Stores cookies that the daemon has received and accepted.
    func keep(cookies values: [String], from url: HTTPURL, of task: TransferTask) {
        if let keeper { return keeper.received(HeaderFields(values.map { ("Set-Cookie", $0) }), from: url, of: task) }
        self.cookies?.receive(values, from: url, logger: self.logger)
    }

    /// Calls the delegates of the transfer's task, if it has one.
    package func decide(
        _ question: PolicyQuestion,
        about request: RequestFacts,
        later: @escaping @Sendable (PolicyDecision) -> Void
    ) -> PolicyDecision? {
        guard let task = Self.task(request) else {
            guard case .challenge(let head) = question else { return .proceed }
            if case .repeat = self.authenticator.challenged(head, request) { return .repeat }
            return .proceed
        }
        switch question {
        case .response(let head, let length):
            return self.decide(
                TransferResponse(to: request, head: head, expectedLength: length),
                task,
                request,
                later
            )
        case .redirect(let head, let url, let method):
            let members = task.hearers
            guard !members.isEmpty else { return .proceed }
            let redirect = Redirect(
                response: TransferResponse(url: request.url, head: head, expectedLength: nil),
                url: url,
                method: method
            )
            DelegateList<any TransferDelegate>
                .ask(
                    members[...],
                    { $0.task(task, willFollow: redirect, decide: $1) },
                    isDefault: { $0 == .follow },
                    fallback: .follow,
                    done: { decision in
                        switch decision {
                        case .follow: later(.proceed)
                        case .refuse: later(.refuse)
                        case .cancel: later(.cancel)
                        }
                    }
                )
            return nil
        case .challenge(let head):
            // The adapter adds other fields to the next request.
            if self.hasAdapter, request.refusals == 0 { return .repeat }
            return self.decide(head, task, request, later)
        }
    }

    /// Reports the connection of a task's request.
    package func uses(_ connection: ConnectionReport, for request: RequestFacts) {
        if let onConnection, let task = Self.task(request) { onConnection(connection, task) }
    }

    package var decidesRetries: Bool { self.retrier != nil }

    /// Asks the session's retrier.
    package func decide(after failure: TransferFailure, attempts: Int, userInfo: (any Sendable)?) -> RetryDecision? {
        guard let task = (userInfo as? TaskBox)?.task else { return nil }
        return self.retrier?.decision(after: failure, attempts, of: task)
    }

    /// Forgets the credentials that an ended transfer has tried.
    package func ended(_ id: TransferID) { self.authenticator.ended(id) }

    private static func task(_ request: RequestFacts) -> TransferTask? { (request.userInfo as? TaskBox)?.task }

    private func decide(
        _ response: TransferResponse,
        _ task: TransferTask,
        _ request: RequestFacts,
        _ later: @escaping @Sendable (PolicyDecision) -> Void
    ) -> PolicyDecision? {
        switch task.inquiry.withLock({ $0.asked(later) }) {
        case .decided(let decision):
            task.renew(response)
            self.apply(decision, task, request, later)
            return nil
        case .pending:
            task.renew(response)
            return nil
        case .ask: break
        }
        task.received(response)
        DelegateList<any TransferDelegate>
            .ask(
                task.hearers[...],
                { $0.task(task, didReceive: response, decide: $1) },
                isDefault: { $0 == .allow },
                fallback: .allow,
                done: { decision in
                    guard let later = task.inquiry.withLock({ $0.decided(decision) }) else { return }
                    self.apply(decision, task, request, later)
                }
            )
        return nil
    }

    private func apply(
        _ decision: TransferResponse.Decision,
        _ task: TransferTask,
        _ request: RequestFacts,
        _ later: @escaping @Sendable (PolicyDecision) -> Void
    ) {
        switch decision {
        case .allow: later(.proceed)
        case .cancel: later(.cancel)
        case .becomeDownload(let destination):
            // A data task that became this download: the run that received this decision had ended.
            if let download = task as? DownloadTask { return later(.divert(download.place.diversion)) }
            // A task that was suspended or has ended in the meantime does not become a download: its end would not be
            // reported. If it is resumed, its next response does.
            guard let data = task as? DataTask, let box = request.userInfo as? TaskBox, data.state == .running else {
                return later(.proceed)
            }
            do throws(TransferError) {
                let download = try task.session.turn(data, into: destination, request.id, box)
                download.inquiry.withLock { _ = $0.decided(decision) }
                later(.divert(download.place.diversion))
            } catch {
                data.fail(error)
                later(.cancel)
            }
        }
    }

    private func decide(
        _ head: ResponseHead,
        _ task: TransferTask,
        _ request: RequestFacts,
        _ later: @escaping @Sendable (PolicyDecision) -> Void
    ) -> PolicyDecision? {
        guard case .ask(let space, let schemes, let refusals) = self.authenticator.challenged(head, request) else {
            return .repeat
        }
        let members = task.hearers
        guard !members.isEmpty else { return .proceed }
        let challenge = Challenge(
            protectionSpace: space,
            schemes: schemes,
            refusals: refusals,
            response: TransferResponse(url: request.url, head: head, expectedLength: nil)
        )
        DelegateList<any TransferDelegate>
            .ask(
                members[...],
                { $0.task(task, didReceive: challenge, decide: $1) },
                isDefault: { if case .useDefault = $0 { true } else { false } },
                fallback: .useDefault,
                done: { decision in
                    switch decision {
                    case .useDefault: later(.proceed)
                    case .cancel: later(.cancel)
                    case .use(let credential, let persistence):
                        let scope: AuthenticationMachine.Scope = persistence == .session ? .all : .transfer
                        later(self.authenticator.use(credential, scope, for: head, request) ? .repeat : .proceed)
                    }
                }
            )
        return nil
    }
}

/// The delegates' decision about a task's response, which is requested once.
///
/// A task that is suspended in the meantime receives another response; the decision about the first one applies to it.
struct ResponseInquiry: Sendable {
    enum Step {
        case ask
        /// The delegates were called and have not decided yet.
        case pending
        case decided(TransferResponse.Decision)
    }

    private var isAsked = false
    private var decision: TransferResponse.Decision?
    private var later: (@Sendable (PolicyDecision) -> Void)?

    /// The engine requests a decision; `later` replaces the closure of an earlier response.
    mutating func asked(_ later: @escaping @Sendable (PolicyDecision) -> Void) -> Step {
        if let decision { return .decided(decision) }
        defer {
            self.isAsked = true
            self.later = later
        }
        return self.isAsked ? .pending : .ask
    }

    /// The delegates have decided.
    ///
    /// - Returns: The closure of the newest response.
    mutating func decided(_ decision: TransferResponse.Decision) -> (@Sendable (PolicyDecision) -> Void)? {
        self.decision = decision
        defer { self.later = nil }
        return self.later
    }
}

/// A reference from a transfer to its task, which a delegate's decision may replace.
///
/// Weak: the engine keeps this object as long as the transfer, but a suspended transfer's task may be released before.
final class TaskBox: Sendable {
    private struct Reference: Sendable { weak let task: TransferTask? }

    private let reference: Mutex<Reference>

    init(_ task: TransferTask) { self.reference = Mutex(Reference(task: task)) }

    var task: TransferTask? {
        get { self.reference.withLock { $0.task } }
        set { self.reference.withLock { $0 = Reference(task: newValue) } }
    }
}

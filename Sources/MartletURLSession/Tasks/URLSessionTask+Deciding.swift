// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Martlet
internal import Synchronization
internal import TransferCore

/// The questions of a transfer, which the delegate answers: responses, redirects, challenges.
extension URLSessionTask {
    /// The transport's connection for the present request; that of the first one for a response counts.
    func uses(_ connection: ConnectionReport, for transfer: TransferTask) {
        self.facts.withLock { facts in
            guard facts.transfer === transfer, let last = facts.transactions.indices.last,
                facts.transactions[last].responseStart == nil
            else { return }
            facts.transactions[last].connection = connection
            facts.transactions[last].connectedAt = Date()
        }
    }

    /// The head of a response has arrived.
    func received(
        _ response: TransferResponse,
        of transfer: TransferTask,
        _ decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    ) {
        let isReplaced = self.facts.withLock { $0.instead != nil }
        guard !isReplaced, self.isCurrent(transfer), let known = response.urlResponse else { return decide(.allow) }
        // One redirect too many is a failure, and not a response.
        let isRedirect =
            [301, 302, 303, 307, 308].contains(response.status) && response.headers.contains("Location")
        guard !isRedirect || self.facts.withLock({ $0.refusesRedirect }) else { return decide(.allow) }
        let verdict = self.facts.withLock { facts in
            if let last = facts.transactions.indices.last { facts.transactions[last].received(known) }
            return facts.caching.received(response, to: facts.currentRequest, self.session.settings.urlCache)
        }
        switch verdict {
        case .deliver: break
        case .deliverStored(let stored):
            self.facts.withLock { $0.instead = .stored(stored) }
            return decide(.cancel)
        case .refetch:
            self.facts.withLock { $0.instead = .repetition($0.caching.unconditional) }
            return decide(.cancel)
        }
        // The bytes sent since the last sample are reported before the response.
        let (sent, sentNow) = self.facts.withLock { facts -> (Int64, Int64) in
            facts.response = known
            facts.bytesExpected = response.expectedLength ?? NSURLSessionTransferSizeUnknown
            let earlier = facts.bytesSent
            facts.bytesSent = max(earlier, transfer is DataTask ? max(0, facts.bytesToSend) : transfer.bytesSent)
            return (facts.bytesSent, facts.bytesSent - earlier)
        }
        if let length = response.expectedLength { self.progress.totalUnitCount = length }
        if sentNow > 0 { self.reportSent(sentNow, sent, max(sent, self.countOfBytesExpectedToSend)) }
        let decoder = ContentDecoder(for: response.headers)
        if case .bytes(let source) = self.sink {
            source.put(.success((.events(transfer.events, decoder), known)))
            // The sequence decompresses for its reader; the cache stores plain bytes as well.
            self.facts.withLock { facts in
                facts.decoder = facts.caching.collects ? ContentDecoder(for: response.headers) : nil
            }
        } else {
            self.facts.withLock { $0.decoder = decoder }
        }
        if self is URLSessionDownloadTask {
            guard !(transfer is DownloadTask) else { return decide(.allow) }
            // A body that has to be decompressed cannot be resumed.
            if transfer is DataTask, (200..<300).contains(response.status), decoder == nil {
                return decide(.becomeDownload(to: .temporary))
            }
            self.facts.withLock { $0.page = ErrorPageFile() }
            return decide(.allow)
        }
        self.decide(about: known, transfer, decide)
    }

    private func decide(
        about response: URLResponse,
        _ transfer: TransferTask,
        _ decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    ) {
        guard let delegate = self.dataDelegate, let task = self as? URLSessionDataTask else { return decide(.allow) }
        delegate.urlSession(self.session, dataTask: task, didReceive: response) { disposition in
            switch disposition {
            case .allow: decide(.allow)
            case .becomeDownload:
                guard !(transfer is DataTask) else { return decide(.becomeDownload(to: .temporary)) }
                let reason = "the response to an upload cannot become a download: allow it"
                let error = URLError.about(.unsupportedURL, response.url, reason)
                self.facts.withLock { $0.instead = .failure(error) }
                decide(.cancel)
            case .cancel:
                self.facts.withLock { _ = $0.life.cancel() }
                decide(.cancel)
            }
        }
    }

    /// The server redirects.
    func redirected(_ redirect: Redirect, _ decide: @escaping @Sendable (Redirect.Decision) -> Void) {
        guard let response = redirect.response.urlResponse, let current = self.currentRequest else {
            return decide(.follow)
        }
        let proposed = current.following(redirect)
        let take: @Sendable (URLRequest?) -> Void = { request in
            // Without a request, the redirect is the response.
            guard let request else {
                self.facts.withLock { $0.refusesRedirect = true }
                return decide(.refuse)
            }
            self.facts.withLock { facts in
                if let last = facts.transactions.indices.last {
                    facts.transactions[last].received(response)
                    facts.transactions[last].responseEnd = Date()
                }
                facts.redirects += 1
                // A stream was read: the request restarts with another one.
                let isSame = request == proposed && (!facts.hasUsedStream || request.httpMethod != current.httpMethod)
                if isSame {
                    facts.currentRequest = request
                    facts.transactions.append(TransactionRecord(request: request, start: Date()))
                } else if facts.transfer is DownloadTask {
                    facts.instead = .failure(Self.cannotRewrite(request))
                } else {
                    facts.instead = .request(request)
                }
            }
            decide(self.facts.withLock { $0.instead == nil } ? .follow : .cancel)
        }
        guard let delegate = self.taskDelegate else { return take(proposed) }
        delegate.urlSession(
            self.session,
            task: self,
            willPerformHTTPRedirection: response,
            newRequest: proposed,
            completionHandler: take
        )
    }

    /// A resumed download cannot restart with another request: what it holds is of the first one.
    private static func cannotRewrite(_ request: URLRequest) -> URLError {
        .about(
            .redirectToNonExistentLocation,
            request.url,
            "a resumed download cannot follow a redirect that the delegate has changed: begin a new one"
        )
    }

    // MARK: Challenges

    /// The server requires credentials.
    func challenged(_ challenge: Challenge, _ decide: @escaping @Sendable (Challenge.Decision) -> Void) {
        let space = Self.space(challenge)
        let proposed = challenge.refusals == 0 ? self.storedCredential(for: space) : nil
        let take: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = { disposition, credential in
            switch disposition {
            case .useCredential: self.use(credential, in: space, decide)
            case .performDefaultHandling: self.use(proposed, in: space, decide)
            case .rejectProtectionSpace: decide(.useDefault)
            case .cancelAuthenticationChallenge:
                self.facts.withLock { _ = $0.life.cancel() }
                decide(.cancel)
            }
        }
        let asked = URLAuthenticationChallenge(
            protectionSpace: space,
            proposedCredential: proposed,
            previousFailureCount: challenge.refusals,
            failureResponse: challenge.response.urlResponse,
            error: nil,
            sender: ChallengeSender(take)
        )
        if let delegate = self.taskDelegate {
            delegate.urlSession(self.session, task: self, didReceive: asked, completionHandler: take)
        } else if let delegate = self.session.delegate {
            delegate.urlSession(self.session, didReceive: asked, completionHandler: take)
        } else {
            take(.performDefaultHandling, nil)
        }
    }

    /// The storage's credential; on Linux two equal spaces are not equal as keys.
    private func storedCredential(for space: URLProtectionSpace) -> URLCredential? {
        guard let storage = self.session.settings.urlCredentialStorage else { return nil }
        if let known = storage.defaultCredential(for: space) { return known }
        let same = storage.allCredentials.first { known, _ in
            let isSameMethod =
                known.authenticationMethod == space.authenticationMethod
                || known.authenticationMethod == NSURLAuthenticationMethodDefault
            return known.host == space.host && known.port == space.port && known.protocol == space.protocol
                && known.realm == space.realm && isSameMethod
        }
        return same.flatMap { storage.defaultCredential(for: $0.key) ?? $0.value.values.first }
    }

    private func use(
        _ credential: URLCredential?,
        in space: URLProtectionSpace,
        _ decide: @Sendable (Challenge.Decision) -> Void
    ) {
        guard let credential, let user = credential.user, let password = credential.password else {
            return decide(.useDefault)
        }
        if credential.persistence != .none, credential.persistence != .forSession {
            self.session.settings.urlCredentialStorage?.set(credential, for: space)
        }
        // A stream that was read cannot be sent again: the request restarts with another stream and this credential.
        let beginsAgain = self.facts.withLock { facts in
            if facts.hasUsedStream { facts.instead = .request(facts.currentRequest) }
            return facts.hasUsedStream
        }
        let isForTask = credential.persistence == .none && !beginsAgain
        decide(.use(.password(user: user, password: password), remember: isForTask ? .task : .session))
    }

    private static func space(_ challenge: Challenge) -> URLProtectionSpace {
        let origin = challenge.protectionSpace.origin
        let method =
            switch challenge.schemes.first?.lowercased() {
            case "digest": NSURLAuthenticationMethodHTTPDigest
            case "basic": NSURLAuthenticationMethodHTTPBasic
            default: NSURLAuthenticationMethodDefault
            }
        return URLProtectionSpace(
            host: origin.host,
            port: Int(origin.port),
            // As Foundation's own challenges have it on Linux: not the constants.
            protocol: origin.scheme == .https ? "https" : "http",
            realm: challenge.protectionSpace.realm,
            authenticationMethod: method
        )
    }
}

/// The sender of a challenge, for programs that answer it by a call instead of the completion handler.
private final class ChallengeSender: NSObject, URLAuthenticationChallengeSender {
    private let take: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    init(_ take: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void) { self.take = take }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        self.take(.useCredential, credential)
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { self.take(.useCredential, nil) }

    func cancel(_ challenge: URLAuthenticationChallenge) { self.take(.cancelAuthenticationChallenge, nil) }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { self.take(.performDefaultHandling, nil) }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        self.take(.rejectProtectionSpace, nil)
    }
}

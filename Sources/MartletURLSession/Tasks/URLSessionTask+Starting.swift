// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Martlet
internal import MartletFoundation
internal import Synchronization

/// The beginning of a task: its date, the cache, the stream of its body, and then its transfer.
extension URLSessionTask {
    /// Begins a task that was resumed for the first time.
    func begin() {
        guard let date = self.earliestBeginDate, date > Date() else { return self.prepare(self.currentRequest) }
        if self.session.backgroundTransfers != nil, !self.isData {
            self.facts.withLock { $0.isDelayed = true }
            self.prepare(self.currentRequest)
        }
        // The session keeps the task until it is complete: one that is cancelled does not live until its date.
        DispatchQueue.global()
            .asyncAfter(deadline: .now() + date.timeIntervalSinceNow) { [weak self] in
                guard let self else { return }
                self.session.delegateQueue.addOperation { self.beginDelayed() }
            }
    }

    private func beginDelayed() {
        guard self.isListed else { return }
        guard let request = self.currentRequest, let delegate = self.taskDelegate else {
            return self.beginNow(self.currentRequest)
        }
        delegate.urlSession(self.session, task: self, willBeginDelayedRequest: request) { decision, other in
            switch decision {
            case .continueLoading: self.beginNow(request)
            case .useNewRequest:
                // Its transfer is no longer the task's.
                let stored = self.facts.withLock { facts in
                    facts.currentRequest = other ?? request
                    defer { facts.transfer = nil }
                    return facts.transfer
                }
                stored?.cancel()
                self.beginNow(other ?? request)
            case .cancel: self.cancel()
            }
        }
    }

    /// Begins a delayed task: its transfer may be stored already.
    private func beginNow(_ request: URLRequest?) {
        let stored = self.facts.withLock { facts in
            facts.isDelayed = false
            return facts.transfer
        }
        if let stored { self.apply(to: stored) } else { self.prepare(request) }
    }

    private var isData: Bool { if case .data = self.work { true } else { false } }

    /// Makes a request: from the cache, or after its body's stream is known.
    func prepare(_ request: URLRequest?) {
        let answer = self.facts.withLock { facts -> CachingState.Answer in
            guard let request else { return .load(request) }
            if case .data = self.work { return facts.caching.begin(request, self.session.settings) }
            return CachingState.answerWithoutCache(request, self.session.settings)
        }
        switch answer {
        case .stored(let stored): self.answer(stored.response, stored.data, isCached: true)
        case .failed(let error): self.fail(error)
        case .load(let request): self.load(request)
        }
    }

    /// Makes a request without the cache.
    func load(_ request: URLRequest?) {
        if let request, self.session.settings.identifier == nil, self.session.fallback.takes(request) {
            return self.fallBack(request)
        }
        let isAgain = self.facts.withLock { $0.hasUsedStream }
        guard let request, isAgain || self.work.needsStream(request), let delegate = self.taskDelegate else {
            return self.launch(request, nil)
        }
        self.session.delegateQueue.addOperation {
            delegate.urlSession(self.session, task: self, needNewBodyStream: { self.launch(request, $0) })
        }
    }

    /// Creates the transfer, and starts it unless the task is suspended or cancelled now.
    private func launch(_ request: URLRequest?, _ stream: InputStream?) {
        let made: TransferTask
        do {
            let transfers = try self.session.transfers(for: self.work, request)
            guard !self.session.isInvalidated || self.isListed else {
                throw URLError.about(.cancelled, request?.url, "the session was invalidated: create another one")
            }
            let defaults = self.session.settings.additionalFields
            made = try self.work.transfer(self.withCookies(request), stream, defaults, in: transfers)
        } catch {
            return self.fail((error as? TransferError).map { URLError($0, request?.url) } ?? error)
        }
        made.userInfo = TaskReference(self)
        let (priority, description) = self.facts.withLock { facts in
            facts.transfer = made
            facts.hasUsedStream = made is UploadTask && (stream ?? request?.httpBodyStream) != nil
            if let request { facts.transactions.append(TransactionRecord(request: request, start: Date())) }
            return (facts.priority, facts.description)
        }
        made.priority = Self.level(priority)
        if self.session.settings.identifier != nil {
            made.persistentInfo = KeptInfo(number: self.taskIdentifier, description: description).text
        }
        if self.facts.withLock({ $0.isDelayed }) { made.earliestBeginDate = self.earliestBeginDate }
        self.apply(to: made)
    }

    /// The request with the storage's cookies, if the daemon makes it: it does not know the storage.
    private func withCookies(_ request: URLRequest?) -> URLRequest? {
        let settings = self.session.settings
        guard settings.identifier != nil, settings.httpShouldSetCookies, var request, request.httpShouldHandleCookies,
            request.value(forHTTPHeaderField: "Cookie") == nil, let url = request.url,
            let cookies = settings.httpCookieStorage?.field(for: url)
        else { return request }
        if case .data = self.work { return request }
        request.setValue(cookies, forHTTPHeaderField: "Cookie")
        return request
    }

    /// Lets Foundation make a request.
    private func fallBack(_ request: URLRequest) {
        let content: Data?
        switch self.work {
        case .upload(.bytes(let data)): content = data
        case .upload(.file(let url)):
            do {
                content = try Data(contentsOf: url)
            } catch {
                return self.fail(URLError.about(.cannotOpenFile, request.url, "\(url.path): \(error)"))
            }
        case .upload(.stream), .data, .download, .resumed, .adopted: content = nil
        }
        self.facts.withLock { $0.transactions.append(TransactionRecord(request: request, start: Date())) }
        let task = self.session.fallback.task(request, content: content) { data, response, error in
            if let response, error == nil { return self.answer(response, data ?? Data(), isCached: false) }
            self.fail(error ?? URLError(.unknown))
        }
        let state = self.facts.withLock { facts in
            facts.fallback = task
            return facts.life.state
        }
        // Foundation counts suspensions, too: those from now on are added to this beginning, in any order.
        switch state {
        case .running: task.resume()
        case .suspended: break
        case .canceling, .completed: task.cancel()
        }
    }

    /// Ends the task with an error that precedes its transfer.
    private func fail(_ error: any Error) {
        self.session.delegateQueue.addOperation { self.complete(error) }
    }

    /// The delegate for decisions and events: the task's own, otherwise the session's.
    var taskDelegate: (any URLSessionTaskDelegate)? {
        self.delegate ?? self.session.delegate as? any URLSessionTaskDelegate
    }

    /// The delegate for a body, unless a handler receives it.
    var dataDelegate: (any URLSessionDataDelegate)? {
        self.sink.isDelegate ? self.taskDelegate as? any URLSessionDataDelegate : nil
    }

    /// The delegate for a file, unless a handler receives it.
    var downloadDelegate: (any URLSessionDownloadDelegate)? {
        self.sink.isDelegate ? self.taskDelegate as? any URLSessionDownloadDelegate : nil
    }
}

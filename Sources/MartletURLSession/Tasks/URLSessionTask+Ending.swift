// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Martlet
internal import Synchronization

/// The bytes and the end of a transfer, passed to the delegate or to the handler; called on the delegate's queue.
extension URLSessionTask {
    /// Whether a transfer is the task's present one, not one that a redirect or the cache has replaced.
    func isCurrent(_ transfer: TransferTask) -> Bool { self.facts.withLock { $0.transfer === transfer } }

    // MARK: Bytes

    /// Bytes of the body have arrived.
    func received(_ data: Data, of transfer: TransferTask) {
        guard self.isCurrent(transfer) else { return }
        let (count, decoder) = self.facts.withLock { facts in
            facts.bytesReceived += Int64(data.count)
            return (facts.bytesReceived, facts.decoder)
        }
        self.progress.completedUnitCount = count
        guard let decoder else { return self.deliver(data) }
        do {
            let plain = try decoder.decode(data)
            if !plain.isEmpty { self.deliver(plain) }
        } catch {
            self.facts.withLock { facts in
                if facts.instead == nil { facts.instead = .failure(error) }
            }
            transfer.cancel()
        }
    }

    private func deliver(_ data: Data) {
        let page = self.facts.withLock { facts in
            var isHandled = false
            if case .data = self.sink { isHandled = true }
            if isHandled || facts.caching.collects {
                facts.body.append(data)
                if facts.caching.exceeds(facts.body.count), !isHandled { facts.body = Data() }
            }
            return facts.page
        }
        if let page {
            page.write(data)
            return self.reportWritten(data.count)
        }
        guard let delegate = self.dataDelegate, let task = self as? URLSessionDataTask else { return }
        delegate.urlSession(self.session, dataTask: task, didReceive: data)
    }

    /// Reports that bytes of a body were written to a page's file.
    private func reportWritten(_ count: Int) {
        guard let delegate = self.downloadDelegate, let task = self as? URLSessionDownloadTask else { return }
        let (total, expected) = self.facts.withLock { facts in
            facts.bytesWritten += Int64(count)
            return (facts.bytesWritten, facts.decoder == nil ? facts.bytesExpected : NSURLSessionTransferSizeUnknown)
        }
        delegate.urlSession(
            self.session,
            downloadTask: task,
            didWriteData: Int64(count),
            totalBytesWritten: total,
            totalBytesExpectedToWrite: expected
        )
    }

    /// Bytes were written to the file of a download.
    func wrote(_ made: TransferProgress) {
        let expected = self.facts.withLock { facts in
            facts.bytesReceived = made.bytesReceived
            // The length that the response declares, also after the end of chunks has shown it.
            if facts.response == nil { facts.bytesExpected = made.bytesExpected ?? facts.bytesExpected }
            return facts.bytesExpected
        }
        self.progress.totalUnitCount = expected
        self.progress.completedUnitCount = made.bytesReceived
        guard let delegate = self.downloadDelegate, let task = self as? URLSessionDownloadTask else { return }
        delegate.urlSession(
            self.session,
            downloadTask: task,
            didWriteData: made.bytesSinceLast,
            totalBytesWritten: made.bytesReceived,
            totalBytesExpectedToWrite: expected
        )
    }

    /// A download continues with bytes that are present.
    func resumed(at offset: Int64, expected: Int64?) {
        guard let delegate = self.downloadDelegate, let task = self as? URLSessionDownloadTask else { return }
        delegate.urlSession(
            self.session,
            downloadTask: task,
            didResumeAtOffset: offset,
            expectedTotalBytes: expected ?? NSURLSessionTransferSizeUnknown
        )
    }

    /// Bytes of the request's body were sent.
    func sent(_ total: Int64, since: Int64, of expected: Int64) {
        let isNew = self.facts.withLock { facts in
            facts.bytesToSend = expected
            if total == expected, let last = facts.transactions.indices.last { facts.transactions[last].sent() }
            defer { facts.bytesSent = max(facts.bytesSent, total) }
            return total > facts.bytesSent
        }
        if isNew { self.reportSent(since, total, expected) }
    }

    func reportSent(_ since: Int64, _ total: Int64, _ expected: Int64) {
        self.taskDelegate?
            .urlSession(
                self.session,
                task: self,
                didSendBodyData: since,
                totalBytesSent: total,
                totalBytesExpectedToSend: expected
            )
    }

    /// The transfer waits after an attempt that failed.
    func waits() {
        let isFirst = self.facts.withLock { facts in
            defer { facts.hasWaited = true }
            return !facts.hasWaited
        }
        guard isFirst, self.session.settings.waitsForConnectivity else { return }
        self.taskDelegate?.urlSession(self.session, taskIsWaitingForConnectivity: self)
    }

    /// The transfer continues as a download.
    func became(_ transfer: DownloadTask) {
        guard !(self is URLSessionDownloadTask) else {
            self.facts.withLock { $0.transfer = transfer }
            // The commands since this decision went to the transfer that it replaces.
            return self.apply(to: transfer)
        }
        let (facts, isFirst) = self.facts.withLock { facts in
            let continued = facts
            facts.transfer = nil
            return (continued, facts.life.complete())
        }
        let download = URLSessionDownloadTask(continuing: self, facts, transfer)
        self.session.keep(download)
        download.apply(to: transfer)
        if let delegate = self.dataDelegate, let task = self as? URLSessionDataTask {
            delegate.urlSession(self.session, dataTask: task, didBecome: download)
        }
        // The delegate is notified of the download's end instead.
        if isFirst { self.session.forget(self) }
    }

    // MARK: The end

    /// The replacement of a transfer that was ended.
    enum Replacement {
        case request(URLRequest?)
        /// The same request, now without the cache.
        case repetition(URLRequest?)
        case stored(CachedURLResponse)
        /// The body cannot be decompressed.
        case failure(any Error)
    }

    /// A transfer into memory has ended.
    ///
    /// - Parameters:
    ///   - transfer: The transfer.
    ///   - result: The response, with the body if it was not delivered before.
    func ended(_ transfer: TransferTask, _ result: Result<(TransferResponse, Data?), TransferError>) {
        guard self.isCurrent(transfer) else { return }
        let (replacement, isCancelled) = self.facts.withLock { facts in
            defer { facts.instead = nil }
            return (facts.instead, facts.life.state == .canceling)
        }
        if let replacement, !isCancelled { return self.replace(with: replacement) }
        switch result {
        case .failure(let error):
            if case .request = replacement { return self.complete(URLError.about(.cancelled, self.url, "cancelled")) }
            self.complete(URLError(error, self.url))
        case .success(let (response, body)):
            self.facts.withLock { facts in if facts.response == nil { facts.response = response.urlResponse } }
            if let body, !body.isEmpty { self.received(body, of: transfer) }
            self.bodyEnded()
        }
    }

    private func replace(with replacement: Replacement) {
        switch replacement {
        case .failure(let error): self.complete(error)
        case .stored(let stored): self.answer(stored.response, stored.data, isCached: true)
        case .request(let request):
            self.leaveTransfer(for: request)
            self.prepare(request)
        case .repetition(let request):
            self.leaveTransfer(for: request)
            self.load(request)
        }
    }

    private func leaveTransfer(for request: URLRequest?) {
        self.facts.withLock { facts in
            facts.transfer?.userInfo = nil
            facts.transfer = nil
            facts.currentRequest = request
        }
    }

    /// The body is complete: it may be stored, and then the task is complete.
    private func bodyEnded() {
        let (page, decoder) = self.facts.withLock { ($0.page, $0.decoder) }
        do { try decoder?.finish() } catch { return self.complete(error) }
        if let page { return self.deliver(page) }
        guard let (proposal, request) = self.facts.withLock({ $0.caching.proposal($0.body) }),
            let cache = self.session.settings.urlCache
        else { return self.complete(nil) }
        guard let delegate = self.dataDelegate, let task = self as? URLSessionDataTask else {
            cache.storeCachedResponse(proposal, for: request)
            return self.complete(nil)
        }
        delegate.urlSession(self.session, dataTask: task, willCacheResponse: proposal) { chosen in
            if let chosen, chosen.storagePolicy != .notAllowed { cache.storeCachedResponse(chosen, for: request) }
            self.session.delegateQueue.addOperation { self.complete(nil) }
        }
    }

    private func deliver(_ page: ErrorPageFile) {
        do {
            try page.finish()
        } catch {
            return self.complete(URLError.about(.cannotWriteToFile, self.url, "\(page.url.path): \(error)"))
        }
        self.deliver(page.url) { page.keep() }
        self.facts.withLock { $0.page = nil }
        withExtendedLifetime(page) {}
    }

    func ended(_ transfer: DownloadTask, downloaded result: Result<DownloadedFile, TransferError>) {
        guard self.isCurrent(transfer) else { return }
        switch result {
        case .success(let file):
            self.facts.withLock { facts in
                if facts.response == nil { facts.response = file.response?.urlResponse }
                facts.bytesReceived = file.size
            }
            self.deliver(URL(fileURLWithPath: file.path)) { file.keep() }
            withExtendedLifetime(file) {}
        case .failure(let error):
            let (isCancelled, instead) = self.facts.withLock { ($0.life.state == .canceling, $0.instead) }
            if !isCancelled, case .failure(let reason) = instead { return self.complete(reason) }
            if !isCancelled, let response = error.response, error.isWholePage {
                // A response is a result, whatever its status.
                let page = ErrorPageFile()
                self.facts.withLock { facts in
                    facts.page = page
                    facts.response = response.urlResponse
                }
                page.write(Data(error.body))
                return self.deliver(page)
            }
            self.complete(URLError(error, self.url))
        }
    }

    /// Hands a complete file over.
    private func deliver(_ file: URL, _ keep: () -> Void) {
        self.progress.completedUnitCount = max(0, self.countOfBytesReceived)
        switch self.sink {
        case .delegate:
            if let delegate = self.downloadDelegate, let task = self as? URLSessionDownloadTask {
                delegate.urlSession(self.session, downloadTask: task, didFinishDownloadingTo: file)
            }
            self.complete(nil)
        case .file(let handler, let keepsFile):
            if keepsFile { keep() }
            guard self.finish(nil) else { return }
            handler(file, self.response, nil)
            self.facts.withLock { $0.delegate = nil }
            self.session.forget(self)
        case .data, .bytes: self.complete(nil)
        }
    }

    /// Answers with a response that is known as a whole: from the cache, or Foundation's.
    func answer(_ response: URLResponse, _ body: Data, isCached: Bool) {
        self.session.delegateQueue.addOperation {
            if self.state == .canceling { return self.complete(URLError.about(.cancelled, self.url, "cancelled")) }
            let transfer = self.facts.withLock { facts -> TransferTask? in
                defer { facts.transfer = nil }
                facts.response = response
                facts.bytesExpected = Int64(body.count)
                self.note(response, isCached: isCached, &facts)
                return facts.transfer
            }
            transfer?.userInfo = nil
            if case .bytes(let source) = self.sink { source.put(.success((.whole(body), response))) }
            if self is URLSessionDownloadTask { self.facts.withLock { $0.page = ErrorPageFile() } }
            self.facts.withLock { facts in
                facts.bytesReceived = Int64(body.count)
                facts.decoder = nil
            }
            guard let delegate = self.dataDelegate, let task = self as? URLSessionDataTask else {
                self.deliver(body)
                return self.bodyEnded()
            }
            delegate.urlSession(self.session, dataTask: task, didReceive: response) { disposition in
                self.session.delegateQueue.addOperation {
                    if disposition == .cancel { self.facts.withLock { _ = $0.life.cancel() } }
                    if self.state == .canceling {
                        return self.complete(URLError.about(.cancelled, self.url, "cancelled"))
                    }
                    if !body.isEmpty { self.deliver(body) }
                    self.bodyEnded()
                }
            }
        }
    }

    private func note(_ response: URLResponse, isCached: Bool, _ facts: inout Facts) {
        if isCached, let request = facts.transactions.last?.request ?? facts.currentRequest {
            facts.transactions.append(TransactionRecord(request: request, start: Date(), isCached: true))
        }
        guard let last = facts.transactions.indices.last else { return }
        facts.transactions[last].received(response)
    }

    /// Completes the task, once: reports its measurements and its end.
    func complete(_ error: (any Error)?) {
        guard self.finish(error) else { return }
        let (body, response) = self.facts.withLock { ($0.body, $0.response) }
        switch self.sink {
        case .delegate: self.taskDelegate?.urlSession(self.session, task: self, didCompleteWithError: error)
        case .data(let handler): handler(error == nil ? body : nil, response, error)
        case .file(let handler, _): handler(nil, response, error)
        case .bytes(let source): if let error { source.put(.failure(error)) }
        }
        self.facts.withLock { facts in
            facts.body = Data()
            facts.delegate = nil
        }
        self.session.forget(self)
    }

    /// Marks the task as complete and reports its measurements; false if it was complete.
    private func finish(_ error: (any Error)?) -> Bool {
        let metrics: URLSessionTaskMetrics? = self.facts.withLock { facts in
            guard facts.life.complete() else { return nil }
            facts.error = error
            facts.transfer?.userInfo = nil
            if let last = facts.transactions.indices.last, error == nil {
                facts.transactions[last].responseEnd = Date()
            }
            let last = facts.transactions.count - 1
            return URLSessionTaskMetrics(
                facts.transactions.enumerated()
                    .map { index, made in
                        let body = index == last ? (sent: facts.bytesSent, received: facts.bytesReceived) : (0, 0)
                        return URLSessionTaskTransactionMetrics(made, body: body)
                    },
                DateInterval(start: self.created, end: max(Date(), self.created)),
                redirects: facts.redirects
            )
        }
        guard let metrics else { return false }
        self.taskDelegate?.urlSession(self.session, task: self, didFinishCollecting: metrics)
        return true
    }
}

extension TransferError {
    /// Whether the error has the whole body of a response: an error page.
    fileprivate var isWholePage: Bool {
        guard self.code == .httpStatus || self.code == .authentication else { return false }
        // Without a length, a body that is shorter than what an error keeps is whole.
        guard let length = self.response?.headers["Content-Length"] else { return self.body.count < 16 << 10 }
        return Int(length) == self.body.count
    }
}

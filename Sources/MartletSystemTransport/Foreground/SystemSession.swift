// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import TransferCore
internal import TransferEngine

/// A `URLSession` with the exchanges that it performs, and its delegate.
///
/// `@unchecked Sendable`: the variables are used on the lane only, on which the session calls its delegate; `init` sets
/// `session` before it has a task, and so an event.
final class SystemSession: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let lane: SystemLane
    private let options: SystemTransportOptions
    private var session: URLSession?
    private var running: [ObjectIdentifier: SystemExchange] = [:]
    private var exchanges: [Int: SystemExchange] = [:]

    init(_ options: SystemTransportOptions, on lane: SystemLane) {
        self.lane = lane
        self.options = options
        super.init()
        let configuration = URLSessionConfiguration.forEngine(.ephemeral)
        options.adjust?(configuration)
        self.session = URLSession(
            configuration: configuration,
            delegate: self,
            delegateQueue: lane.makeDelegateQueue()
        )
    }

    func start(_ request: ExchangeRequest, receiver: any ExchangeReceiver) -> any Exchange {
        let exchange = SystemExchange(
            request,
            on: self.lane,
            receiver: receiver,
            limit: max(1, self.options.bufferedBytes)
        ) { [weak self] in self?.ended($0) }
        self.running[ObjectIdentifier(exchange)] = exchange
        guard self.session != nil else {
            self.lane.later { exchange.shutDown() }
            return exchange
        }
        exchange.start(timeout: self.options.responseTimeout) { [weak self] exchange, request, content in
            guard let self, let session = self.session else { return nil }
            let task: URLSessionTask =
                switch content {
                case .data(let data): session.uploadTask(with: request, from: data)
                case .file(let url): session.uploadTask(with: request, fromFile: url)
                case .failed, nil: session.dataTask(with: request)
                }
            self.exchanges[task.taskIdentifier] = exchange
            return task
        }
        return exchange
    }

    private func ended(_ exchange: SystemExchange) {
        self.running[ObjectIdentifier(exchange)] = nil
        if let number = exchange.taskNumber { self.exchanges[number] = nil }
    }

    /// Fails the running exchanges and ends the session.
    func shutDown() {
        for exchange in Array(self.running.values) { exchange.shutDown() }
        self.session?.invalidateAndCancel()
        self.session = nil
    }

    /// Ends the session once its tasks have ended.
    func finish() {
        self.session?.finishTasksAndInvalidate()
        self.session = nil
    }

    // MARK: Delegate

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard let exchange = self.exchanges[dataTask.taskIdentifier], let response = response as? HTTPURLResponse
        else { return completionHandler(.cancel) }
        completionHandler(exchange.received(ReportedHead(response)) ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        self.exchanges[dataTask.taskIdentifier]?.received(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        self.exchanges[task.taskIdentifier]?.sent(total: totalBytesSent)
    }

    /// The engine follows redirects itself: the redirect is the response.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// The engine has the credentials for HTTP; certificates are the system's.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard challenge.isForHTTP else { return completionHandler(.performDefaultHandling, nil) }
        self.exchanges[task.taskIdentifier]?.challengeDeclined()
        completionHandler(.rejectProtectionSpace, nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        self.exchanges[task.taskIdentifier]?.completed(error)
    }
}

extension ReportedHead {
    init(_ response: HTTPURLResponse) {
        var fields: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { fields[name] = value }
        }
        self.init(status: response.statusCode, fields: fields)
    }
}

extension URLAuthenticationChallenge {
    /// Whether it is a challenge of HTTP (RFC 9110 §11), not of TLS.
    var isForHTTP: Bool {
        let others = ["NSURLAuthenticationMethodServerTrust", "NSURLAuthenticationMethodClientCertificate"]
        return !others.contains(self.protectionSpace.authenticationMethod)
    }
}

extension URLSessionConfiguration {
    /// Leaves cookies, credentials, the cache and timeouts to the engine.
    static func forEngine(_ configuration: URLSessionConfiguration) -> URLSessionConfiguration {
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCredentialStorage = nil
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // The engine limits connections.
        configuration.httpMaximumConnectionsPerHost = 256
        configuration.timeoutIntervalForRequest = 7 * 86_400
        configuration.timeoutIntervalForResource = 7 * 86_400
        return configuration
    }
}

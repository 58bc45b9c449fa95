// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Synchronization

#if canImport(FoundationNetworking)
private typealias FoundationSession = FoundationNetworking.URLSession
typealias FoundationTask = FoundationNetworking.URLSessionTask
#else
private typealias FoundationSession = Foundation.URLSession
typealias FoundationTask = Foundation.URLSessionTask
#endif

/// Foundation's own session, for what Martlet does not do: a program's `URLProtocol`s, and schemes other than http and https.
final class FoundationFallback: Sendable {
    private let settings: URLSessionConfiguration
    /// Foundation's session; `nil` before the first request.
    private let session = Mutex<FoundationSession?>(nil)

    init(_ settings: URLSessionConfiguration) { self.settings = settings }

    deinit { self.session.withLock { $0?.finishTasksAndInvalidate() } }

    private var protocols: [URLProtocol.Type] {
        (self.settings.protocolClasses ?? []).compactMap { $0 as? URLProtocol.Type }
    }

    private func makeSession() -> FoundationSession {
        let configuration = FoundationConfiguration.ephemeral
        configuration.protocolClasses = self.protocols + (configuration.protocolClasses ?? [])
        configuration.timeoutIntervalForRequest = self.settings.timeoutIntervalForRequest
        configuration.timeoutIntervalForResource = self.settings.timeoutIntervalForResource
        configuration.httpAdditionalHeaders = self.settings.httpAdditionalHeaders
        configuration.httpCookieStorage = self.settings.httpCookieStorage
        configuration.httpCookieAcceptPolicy = self.settings.httpCookieAcceptPolicy
        configuration.httpShouldSetCookies = self.settings.httpShouldSetCookies
        configuration.urlCredentialStorage = self.settings.urlCredentialStorage
        configuration.requestCachePolicy = self.settings.requestCachePolicy
        configuration.httpMaximumConnectionsPerHost = self.settings.httpMaximumConnectionsPerHost
        configuration.allowsCellularAccess = self.settings.allowsExpensive
        configuration.connectionProxyDictionary = self.settings.connectionProxyDictionary
        configuration.urlCache = nil
        return FoundationSession(configuration: configuration)
    }

    /// Whether Foundation makes a request.
    func takes(_ request: URLRequest) -> Bool {
        if let scheme = request.url?.scheme?.lowercased(), scheme != "http", scheme != "https" { return true }
        return self.protocols.contains { $0.canInit(with: request) }
    }

    /// Creates the task of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - content: The content to send, if the request has none.
    ///   - ended: Receives the result.
    /// - Returns: Foundation's task, which is suspended.
    func task(
        _ request: URLRequest,
        content: Data?,
        _ ended: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> FoundationTask {
        var request = request
        if let content { request.httpBody = content }
        let session = self.session.withLock { session in
            let known = session ?? self.makeSession()
            session = known
            return known
        }
        return session.dataTask(with: request, completionHandler: ended)
    }
}

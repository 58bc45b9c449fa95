// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Martlet
internal import TransferCore

/// The use of Foundation's cache by one task; the rules are those of ``Martlet/ResponseCache`` (RFC 9111).
///
/// A response is stored for its URL alone, so that one whose `Vary` names other fields, or that belongs to credentials, is
/// not stored.
struct CachingState {
    /// How a request is answered.
    enum Answer {
        case load(URLRequest?)
        case stored(CachedURLResponse)
        case failed(URLError)
    }

    /// The consequence of a response for its body.
    enum Verdict {
        case deliver
        /// The stored response is delivered instead.
        case deliverStored(CachedURLResponse)
        /// The request is made again without conditions.
        case refetch
    }

    private var machine: CacheMachine?
    private var request: URLRequest?
    private var found: CachedURLResponse?
    /// The response whose body is collected to be stored.
    private var storing: (head: StoredResponse, most: Int)?

    /// Whether the bytes of the body are collected.
    var collects: Bool { self.storing != nil }

    /// Begins with a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - configuration: The session's configuration.
    /// - Returns: How it is answered.
    mutating func begin(_ request: URLRequest, _ configuration: URLSessionConfiguration) -> Answer {
        self.storing = nil
        self.machine = nil
        guard let policy = Self.policy(request, configuration) else { return .load(request) }
        guard let cache = configuration.urlCache, request.httpBodyStream == nil else {
            return policy == .returnCacheOnly ? .failed(Self.notStored(request)) : .load(request)
        }
        var fields = HeaderFields((request.allHTTPHeaderFields ?? [:]).map { ($0.key, $0.value) })
        if request.cachePolicy == .reloadRevalidatingCacheData { fields.append("Cache-Control", "max-age=0") }
        var machine = CacheMachine(
            method: request.httpMethod ?? "GET",
            fields: fields,
            hasContent: request.httpBody != nil,
            policy: policy
        )
        var action = machine.begin(Self.now)
        if case .lookUp = action {
            self.found = cache.cachedResponse(for: request)
            action = machine.found(self.found.flatMap(Self.stored), Self.now)
        }
        self.machine = machine
        self.request = request
        switch action {
        case .serve: return self.found.map { .stored($0) } ?? .load(request)
        case .fail: return .failed(Self.notStored(request))
        case .lookUp: return .load(request)
        case .forward(let conditions):
            var conditional = request
            for (name, value) in conditions { conditional.setValue(value, forHTTPHeaderField: name) }
            return .load(conditional)
        }
    }

    /// The answer to a task whose response is never stored: downloads and uploads.
    static func answerWithoutCache(_ request: URLRequest, _ configuration: URLSessionConfiguration) -> Answer {
        Self.policy(request, configuration) == .returnCacheOnly ? .failed(Self.notStored(request)) : .load(request)
    }

    /// The request without the conditions of the cache.
    var unconditional: URLRequest? { self.request }

    /// A response has arrived.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request that it answers, after redirects.
    ///   - cache: The session's cache.
    /// - Returns: What is delivered.
    mutating func received(_ response: TransferResponse, to request: URLRequest?, _ cache: URLCache?) -> Verdict {
        guard var machine, let cache, let own = self.request else { return .deliver }
        // The conditions were about another URL: the answer to them says nothing about this one.
        if request?.url != own.url, response.status == 304, self.found != nil { return self.refetched() }
        let isChunked = response.headers.contains("Transfer-Encoding")
        let head = ResponseHead(
            status: response.status,
            fields: response.headers,
            framing: response.expectedLength.map { .length($0) } ?? (isChunked ? .chunked : .untilClose)
        )
        let step = machine.headReceived(head, Self.now)
        self.machine = machine
        switch step {
        case .deliver(let storing):
            // The response to another URL is not stored for the first one.
            guard let storing, request?.url == own.url, Self.mayStore(response.headers, own) else { return .deliver }
            let most = max(cache.memoryCapacity, cache.diskCapacity) / 20
            if response.expectedLength ?? 0 <= most { self.storing = (storing, most) }
            return .deliver
        case .deliverRemoving:
            cache.removeCachedResponse(for: own)
            return .deliver
        case .serve(_, let storing):
            guard let found else { return self.refetched() }
            if let storing, let fresh = Self.made(storing, found.data, own) {
                cache.storeCachedResponse(fresh, for: own)
                return .deliverStored(fresh)
            }
            return .deliverStored(found)
        case .serveStale: return self.found.map { .deliverStored($0) } ?? .deliver
        case .refetch: return self.refetched()
        }
    }

    /// The request is made again without conditions; its response is delivered, whatever it is, and not stored.
    private mutating func refetched() -> Verdict {
        self.machine = nil
        return .refetch
    }

    /// Whether so much of a body is too much to be stored; then it is not collected any further.
    mutating func exceeds(_ count: Int) -> Bool {
        guard let storing, count > storing.most else { return false }
        self.storing = nil
        return true
    }

    /// The response to store, once the body is complete.
    mutating func proposal(_ body: Data) -> (CachedURLResponse, URLRequest)? {
        guard let storing, let request else { return nil }
        self.storing = nil
        return Self.made(storing.head, body, request).map { ($0, request) }
    }

    // MARK: Foundation's values

    private static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    private static func notStored(_ request: URLRequest) -> URLError {
        .about(
            .resourceUnavailable,
            request.url,
            "the policy allows only the cache, which has no response for this URL"
        )
    }

    /// The policy; `nil` if the cache is not used at all.
    private static func policy(_ request: URLRequest, _ configuration: URLSessionConfiguration) -> CachePolicy? {
        let asked = request.cachePolicy
        switch asked == .useProtocolCachePolicy ? configuration.requestCachePolicy : asked {
        case .useProtocolCachePolicy, .reloadRevalidatingCacheData: return .useProtocolCachePolicy
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return .reloadIgnoringCache
        case .returnCacheDataElseLoad: return .returnCacheElseLoad
        case .returnCacheDataDontLoad: return .returnCacheOnly
        @unknown default: return nil
        }
    }

    private static func mayStore(_ fields: HeaderFields, _ request: URLRequest) -> Bool {
        let varies = VaryRule.names(fields)?.contains { $0.lowercased() != "accept-encoding" } ?? true
        return !varies && request.value(forHTTPHeaderField: "Authorization") == nil
    }

    private static let times = ["MartletRequestTime", "MartletResponseTime"]

    private static func stored(_ cached: CachedURLResponse) -> (head: StoredResponse, length: Int64)? {
        guard let response = cached.response as? HTTPURLResponse else { return nil }
        var fields = HeaderFields()
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { fields.append(name, value) }
        }
        let known = Self.times.map { (cached.userInfo?[$0] as? NSNumber)?.int64Value }
        // Without a time the response counts as old.
        let received = known[1] ?? fields["Date"].flatMap { HTTPDate.parse($0) } ?? 0
        let head = StoredResponse(
            status: response.statusCode,
            fields: fields,
            requestTime: known[0] ?? received,
            responseTime: received
        )
        return (head, Int64(cached.data.count))
    }

    private static func made(_ head: StoredResponse, _ body: Data, _ request: URLRequest) -> CachedURLResponse? {
        guard let url = request.url else { return nil }
        var fields: [String: String] = [:]
        for (name, value) in head.fields { fields[name] = fields[name].map { "\($0), \(value)" } ?? value }
        return HTTPURLResponse(url: url, statusCode: head.status, httpVersion: "HTTP/1.1", headerFields: fields)
            .map { response in
                CachedURLResponse(
                    response: response,
                    data: body,
                    userInfo: [
                        Self.times[0]: NSNumber(value: head.requestTime),
                        Self.times[1]: NSNumber(value: head.responseTime),
                    ],
                    storagePolicy: .allowed
                )
            }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TransferCore
public import TransferEngine

/// A network for the tests of a program: a closure responds to a session's requests, and no socket is opened.
///
///     let network = ScriptedResponses { request in .response(200, text: "hello") }
///     var configuration = SessionConfiguration.ephemeral
///     configuration.transport = network.transport
///
/// Everything above the network is the session's own: redirects, retries, credentials, cookies, ranges, files. Names are
/// not resolved, TLS is not spoken, and proxies are not used. A request's content is received completely before the
/// closure is called.
public final class ScriptedResponses: Sendable {
    /// Returns the response to one request; called on a thread of Swift's, for several requests at once.
    public typealias Script = @Sendable (ScriptedRequest) async -> ScriptedResponse

    private struct State {
        var requests: [ScriptedRequest] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let script: Script
    private let state = Mutex(State())

    /// Creates a network.
    ///
    /// - Parameter script: Returns the response to one request.
    public init(_ script: @escaping Script) {
        self.script = script
    }

    /// The value for `SessionConfiguration.transport`, for any number of sessions.
    public var transport: TransportOverride {
        TransportOverride { ClosureTransport { exchange in Task { await self.serve(exchange) } } }
    }

    /// The requests so far, in the order in which they were complete.
    public var requests: [ScriptedRequest] { self.state.withLock { $0.requests } }

    /// The requests for one URL so far.
    public func requests(for url: String) -> [ScriptedRequest] {
        self.requests.filter { $0.url.description == url }
    }

    /// Returns when this many requests were received.
    public func waitForRequests(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = self.state.withLock { state in
                if state.requests.count < count { state.waiting.append((count, continuation)) }
                return state.requests.count >= count
            }
            if isThere { continuation.resume() }
        }
    }

    private func serve(_ exchange: ScriptedExchange) async {
        exchange.connect()
        guard let body = await exchange.wholeContent() else {
            return exchange.fail(TransportError(.content, "the request's content ended early"))
        }
        let request = self.received(exchange.request, body)
        let response = await self.script(request)
        if response.delay > .zero { try? await Task.sleep(for: response.delay) }
        switch response.kind {
        case .failure(let failure): exchange.fail(failure.error)
        case .silence: break
        case .response: await self.send(response, to: exchange)
        }
    }

    private func send(_ response: ScriptedResponse, to exchange: ScriptedExchange) async {
        let head = response.head(for: exchange.request.method)
        exchange.respond(head)
        var length = response.body.count
        var failure: ScriptedFailure?
        switch head.framing {
        case .none: length = 0
        case .length(let declared):
            if declared > length { failure = .connectionClosed }
            length = Int(min(Int64(length), declared))
        case .chunked, .untilClose: break
        }
        if let end = response.end, end.offset <= length { (length, failure) = (end.offset, end.failure) }
        var offset = 0
        while await exchange.isReadable(), offset < length {
            if response.interval > .zero { try? await Task.sleep(for: response.interval) }
            let end = min(offset + response.pieceSize, length)
            exchange.body(Array(response.body[offset..<end]))
            offset = end
        }
        if let failure { exchange.fail(failure.error) } else { exchange.end() }
    }

    private func received(_ request: ExchangeRequest, _ body: [UInt8]) -> ScriptedRequest {
        let (request, ready) = self.state.withLock { state in
            let request = ScriptedRequest(
                method: request.method,
                url: request.url,
                fields: request.fields,
                body: body,
                index: state.requests.count
            )
            state.requests.append(request)
            let count = state.requests.count
            let ready = state.waiting.filter { $0.count <= count }
            state.waiting.removeAll { $0.count <= count }
            return (request, ready)
        }
        for waiter in ready { waiter.continuation.resume() }
        return request
    }
}

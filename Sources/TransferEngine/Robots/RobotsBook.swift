// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// The `robots.txt` of the origins of a queue, each fetched once through the queue's own transport.
final class RobotsBook: Sendable {
    /// The decision about a request.
    enum Verdict {
        /// The rules permit it.
        case allowed
        /// It must not be sent.
        case refused(TransportError)
        /// The rules are not known yet.
        case unknown
    }

    private struct Page {
        var result: RobotsFetch.Result
        var end: Int64
    }

    private struct State {
        var pages: [Origin: Page] = [:]
        var order = FirstInFirstOut<Origin>()
        var waiting: [Origin: [@Sendable () -> Void]] = [:]
    }

    /// The maximum number of origins that are kept.
    private static let limit = 32_768

    private let agent: String
    private let addresses: AddressRule?
    private let transport: any Transport
    private let time: any TimeSource
    private let state = Mutex(State())

    /// Creates an empty book.
    ///
    /// - Parameters:
    ///   - agent: The User-Agent field of the requests, which also selects the rules.
    ///   - addresses: The addresses to which they are not sent.
    ///   - transport: Sends the requests.
    ///   - time: The clock.
    init(agent: String, addresses: AddressRule?, transport: any Transport, time: any TimeSource) {
        self.agent = agent
        self.addresses = addresses
        self.transport = transport
        self.time = time
    }

    /// Decides about a URL.
    func verdict(on url: HTTPURL) -> Verdict {
        let now = self.time.now
        let page = self.state.withLock { $0.pages[url.origin] }
        guard let page, page.end > now else { return .unknown }
        switch page.result {
        case .rules(let rules, _):
            if rules.allows(url) { return .allowed }
            let message = "\(url.origin.host) denies \(url.path) to crawlers in its robots.txt"
            return .refused(TransportError(.robotsDenied, message, remedy: "ask its operator, or leave out --robots"))
        case .unavailable(let error): return .refused(error)
        }
    }

    /// Fetches the rules of an origin unless they are known.
    ///
    /// - Parameters:
    ///   - origin: The origin.
    ///   - lane: The event loop for the requests.
    ///   - done: Called once, when ``verdict(on:)`` has an answer for the origin's URLs.
    func fetch(_ origin: Origin, onLane lane: Int, _ done: @escaping @Sendable () -> Void) {
        let now = self.time.now
        let (isKnown, isFirst) = self.state.withLock { state in
            if let page = state.pages[origin], page.end > now { return (true, false) }
            state.waiting[origin, default: []].append(done)
            return (false, state.waiting[origin]?.count == 1)
        }
        if isKnown { return done() }
        guard isFirst else { return }
        guard let fetch = RobotsFetch(origin, for: self.agent) else {
            return self.finish(origin, .rules(.allowingAll, age: RobotsFetch.rulesAge))
        }
        let reader = RobotsReader(
            fetch,
            agent: self.agent,
            addresses: self.addresses,
            lane: lane,
            transport: self.transport,
            time: self.time
        ) {
            self.finish(origin, $0)
        }
        self.transport.execute(onLane: lane) { reader.begin() }
    }

    /// The interval between requests that an origin asks for, in nanoseconds, and the time until which its rules are
    /// valid.
    func terms(of origin: Origin) -> (crawlDelay: Int64, end: Int64) {
        self.state.withLock { state in
            guard let page = state.pages[origin] else { return (0, .min) }
            if case .rules(let rules, _) = page.result { return (rules.crawlDelay, page.end) }
            return (0, page.end)
        }
    }

    private func finish(_ origin: Origin, _ result: RobotsFetch.Result) {
        let age: Int64 =
            switch result {
            case .rules(_, let age): age
            // The transfers that waited fail as the request for the rules did; the next ones request them again.
            case .unavailable: 1_000_000_000
            }
        let end = self.time.now + age
        let waiting = self.state.withLock { state in
            if state.pages.updateValue(Page(result: result, end: end), forKey: origin) == nil {
                state.order.append(origin)
                if state.pages.count > Self.limit, let oldest = state.order.popFirst() { state.pages[oldest] = nil }
            }
            return state.waiting.removeValue(forKey: origin) ?? []
        }
        for done in waiting { done() }
    }
}

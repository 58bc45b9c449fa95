// SPDX-License-Identifier: Apache-2.0
/// Fetches one `robots.txt`: which requests are made, and what their responses mean.
///
/// Pure value: a driver sends the requests.
///
/// - Source: RFC 9309 §2.3.1.
package struct RobotsFetch: Sendable {
    /// The knowledge about an origin.
    package enum Result: Sendable {
        /// The rules, and the time for which they are used, in nanoseconds.
        case rules(RobotsRules, age: Int64)
        /// The origin could not be reached, or does not provide its rules for now: its transfers fail in the same way,
        /// which holds the host.
        case unavailable(TransportError)
    }

    /// The next thing to do.
    package enum Action: Sendable {
        /// Request a URL.
        case request(HTTPURL)
        /// Read the body, then call ``RobotsFetch/ended()``.
        case read
        /// The result is known; the rest of the response is not needed.
        case finish(Result)
    }

    /// The terms of the requests: at most five redirects (RFC 9309 §2.3.1.2), also to http, because nothing private is sent.
    package static let terms: RequestTerms = {
        var terms = RequestTerms()
        terms.redirects = RedirectRule(maximum: 5, allowsDowngrade: true)
        return terms
    }()

    /// The time for which rules are used (RFC 9309 §2.4).
    package static let rulesAge: Int64 = 86_400_000_000_000

    private let agent: String
    private var flow: RequestFlow
    private var body: [UInt8] = []

    /// Starts with the file of an origin.
    ///
    /// - Returns: `nil` if the origin has no valid URL.
    package init?(_ origin: Origin, for agent: String) {
        let host = origin.host.utf8.contains(0x3A) ? "[\(origin.host)]" : origin.host
        guard let url = try? HTTPURL("\(origin.scheme.name)://\(host):\(origin.port)/robots.txt") else { return nil }
        self.flow = RequestFlow(url)
        self.agent = agent
    }

    /// The URL to request first.
    package var first: HTTPURL { self.flow.url }

    /// A response's head was received.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - wallNow: The time in seconds since 1970.
    /// - Returns: The next thing to do.
    package mutating func received(_ head: ResponseHead, wallNow: Int64) -> Action {
        if case .next(let next) = self.flow.received(head, method: "GET", Self.terms) {
            self.flow = next
            return .request(next.url)
        }
        switch head.status {
        case 200..<300: return .read
        case 429, 500...:
            // RFC 9309 denies everything then, which would fail every row of a data set at a server that restarts.
            var error = TransportError(
                .robotsUnavailable,
                "\(self.flow.url.origin.host) refuses its robots.txt with status \(head.status)"
            )
            error.peer = self.flow.url.origin
            error.retryAfter = head.fields["Retry-After"].flatMap { RetryAfter.seconds($0, now: wallNow) }
            return .finish(.unavailable(error))
        default: return .finish(.rules(.allowingAll, age: Self.rulesAge))
        }
    }

    /// Bytes of the body were received.
    ///
    /// - Returns: Whether more are needed.
    package mutating func received(body bytes: UnsafeRawBufferPointer) -> Bool {
        let room = RobotsRules.maximumSize - self.body.count
        self.body.append(contentsOf: bytes.prefix(room))
        return bytes.count < room
    }

    /// The body is complete, or more of it than is read.
    package func ended() -> Result { .rules(RobotsRules(self.body, for: self.agent), age: Self.rulesAge) }
}

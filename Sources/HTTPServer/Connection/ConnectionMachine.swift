// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// The state of one HTTP/1.1 connection: its timeouts, and the next step after a request and its response.
///
/// Pure value: the time is an argument. Requests are handled one after the other; a head that arrives before the
/// response to the last request has ended stays unread.
///
/// - Source: RFC 9112 §9.
struct ConnectionMachine {
    /// The next step.
    enum Next: Hashable {
        /// Wait for another event.
        case wait
        /// Read the next request.
        case nextRequest
        /// Send nothing more, and discard input for a while, so that the response is not lost (RFC 9112 §9.6).
        case linger
        case close
    }

    /// The action when the timer fires.
    enum Expiry: Hashable {
        /// Wait: the deadline has moved.
        case wait
        case close
        /// Respond with 408 (Request Timeout) and close the connection.
        case respondTimeout
        /// Check whether the client still acknowledges bytes of the response.
        case lookAtProgress
    }

    private enum State {
        /// No byte has arrived yet.
        case fresh(since: NIODeadline)
        case idle(since: NIODeadline)
        case head(since: NIODeadline)
        case exchange(InFlight)
        case lingering(since: NIODeadline)
        case closed
    }

    private struct InFlight {
        var began: NIODeadline
        var lastByte: NIODeadline
        var bodyBytes: Int64 = 0
        var isComplete = false
        /// Since when the request is not read; the client's timeouts are suspended meanwhile.
        var heldSince: NIODeadline?
        var response = ResponseState.none
        var respondedAt: NIODeadline?
        var closes: Bool
    }

    private enum ResponseState: Hashable {
        case none
        case sending
        case sent
    }

    private let times: ConnectionTimes
    private var state: State
    private var isStopping = false
    /// Whether the client has presented a valid credential.
    var isAuthenticated = false

    /// Starts the state of a new connection.
    init(times: ConnectionTimes, now: NIODeadline) {
        self.times = times
        // The timeout of the first head starts with the connection.
        self.state = .fresh(since: now)
    }

    /// Whether a request may be parsed now.
    var takesRequests: Bool {
        switch self.state {
        case .fresh, .idle, .head: true
        case .exchange(let exchange): !exchange.isComplete
        case .lingering, .closed: false
        }
    }

    /// Whether input is discarded.
    var isLingering: Bool { if case .lingering = self.state { true } else { false } }

    /// Whether a response is pending or being sent.
    var isBusy: Bool { if case .exchange = self.state { true } else { false } }

    /// The first bytes of a request head arrived.
    mutating func headBegan(now: NIODeadline) {
        switch self.state {
        case .fresh(let since): self.state = .head(since: since)
        case .idle: self.state = .head(since: now)
        case .head, .exchange, .lingering, .closed: return
        }
    }

    /// A request head is complete.
    mutating func headEnded(keepsAlive: Bool, now: NIODeadline) {
        self.state = .exchange(InFlight(began: now, lastByte: now, closes: !keepsAlive || self.isStopping))
    }

    /// Content bytes arrived.
    mutating func bodyReceived(_ count: Int, now: NIODeadline) {
        guard case .exchange(var exchange) = self.state else { return }
        exchange.lastByte = now
        exchange.bodyBytes += Int64(count)
        self.state = .exchange(exchange)
    }

    /// The request content is complete.
    mutating func requestEnded(now: NIODeadline) -> Next {
        guard case .exchange(var exchange) = self.state else { return .wait }
        exchange.isComplete = true
        exchange.lastByte = now
        self.state = .exchange(exchange)
        return self.next(exchange, now)
    }

    /// Reading the request was paused or resumed.
    mutating func held(_ isHeld: Bool, now: NIODeadline) {
        guard case .exchange(var exchange) = self.state else { return }
        if isHeld {
            exchange.heldSince = exchange.heldSince ?? now
        } else if let since = exchange.heldSince {
            exchange.began = exchange.began + (now - since)
            exchange.heldSince = nil
        }
        exchange.lastByte = now
        self.state = .exchange(exchange)
    }

    /// The response head is about to be sent.
    ///
    /// - Parameters:
    ///   - closes: Whether the response itself closes the connection.
    ///   - mayDrain: Whether the outstanding request content is small enough to be read and discarded.
    ///   - now: The current time.
    /// - Returns: Whether the connection closes after the response.
    mutating func responseBegan(closes: Bool, mayDrain: Bool, now: NIODeadline) -> Bool {
        guard case .exchange(var exchange) = self.state else { return true }
        exchange.closes = exchange.closes || closes || self.isStopping || !exchange.isComplete && !mayDrain
        exchange.response = .sending
        exchange.heldSince = nil
        exchange.lastByte = now
        self.state = .exchange(exchange)
        return exchange.closes
    }

    /// Part of the response was sent.
    mutating func progressed(now: NIODeadline) {
        guard case .exchange(var exchange) = self.state else { return }
        exchange.lastByte = now
        self.state = .exchange(exchange)
    }

    /// The complete response was handed to the kernel.
    mutating func responseEnded(now: NIODeadline) -> Next {
        guard case .exchange(var exchange) = self.state else { return .wait }
        exchange.response = .sent
        exchange.respondedAt = now
        exchange.lastByte = now
        self.state = .exchange(exchange)
        return self.next(exchange, now)
    }

    mutating func closed() { self.state = .closed }

    /// The server is stopping: the connection accepts no further request.
    mutating func stop(now: NIODeadline) -> Next {
        self.isStopping = true
        switch self.state {
        case .fresh, .idle, .closed: return .close
        case .head, .lingering: return .wait
        case .exchange(var exchange):
            exchange.closes = true
            self.state = .exchange(exchange)
            return .wait
        }
    }

    private mutating func next(_ exchange: InFlight, _ now: NIODeadline) -> Next {
        guard exchange.response == .sent else { return .wait }
        if exchange.closes {
            if exchange.isComplete {
                self.state = .closed
                return .close
            }
            self.state = .lingering(since: now)
            return .linger
        }
        guard exchange.isComplete else { return .wait }
        self.state = .idle(since: now)
        return .nextRequest
    }

    /// The time at which the current state times out.
    var deadline: NIODeadline {
        switch self.state {
        case .idle(let since): return since + self.limited(self.times.keepAlive)
        case .fresh(let since), .head(let since): return since + self.limited(self.times.head)
        case .lingering(let since): return since + self.times.linger
        case .closed: return .distantFuture
        case .exchange(let exchange):
            // Outstanding request content is discarded after the response, for a limited time.
            if let since = exchange.respondedAt { return since + self.times.idle }
            guard exchange.response == .none, !exchange.isComplete else {
                return exchange.response == .none ? .distantFuture : exchange.lastByte + self.times.stall
            }
            if exchange.heldSince != nil { return .distantFuture }
            var deadline = exchange.lastByte + self.times.idle
            if self.times.slowest > 0 {
                // Received content extends the deadline at the slowest allowed rate, from one idle timeout after the
                // start.
                let earned = exchange.bodyBytes / self.times.slowest
                let allowed = exchange.began + self.times.idle + .seconds(min(earned, 1 << 30))
                deadline = min(deadline, allowed)
            }
            if let total = self.times.upload { deadline = min(deadline, exchange.began + total) }
            if !self.isAuthenticated, let limit = self.times.unauthenticated {
                deadline = min(deadline, exchange.began + limit)
            }
            return deadline
        }
    }

    /// A time of an authenticated client, or the shorter one of another client.
    private func limited(_ time: TimeAmount) -> TimeAmount {
        guard !self.isAuthenticated, let limit = self.times.unauthenticated else { return time }
        return min(time, limit)
    }

    /// The timer fired, possibly before the current deadline.
    mutating func timerFired(now: NIODeadline) -> Expiry {
        guard now >= self.deadline else { return .wait }
        switch self.state {
        case .fresh, .idle, .lingering, .closed: return .close
        case .head: return .respondTimeout
        case .exchange(let exchange):
            return switch exchange.response {
            case .none: .respondTimeout
            case .sending: .lookAtProgress
            case .sent: .close
            }
        }
    }
}

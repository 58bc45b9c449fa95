internal import NIOCore

/// What one connection is doing, when it is given up, and what follows when a request and its answer are over.
///
/// Pure value: the time comes in. Requests are answered one after the other; a head that comes while another request is
/// being answered waits unread.
///
/// - Source: RFC 9112 §9.
struct ConnectionMachine {
    /// The times a connection is given.
    struct Times: Sendable {
        var head: TimeAmount
        var keepAlive: TimeAmount
        var idle: TimeAmount
        var upload: TimeAmount?
        /// Bytes a second; 0 for any.
        var slowest: Int64
        /// How long what a client still sends after a last answer is read and thrown away.
        var linger: TimeAmount = .seconds(2)
    }

    /// What follows.
    enum Next: Hashable {
        /// Something else comes first.
        case wait
        /// The next request may be read.
        case nextRequest
        /// Nothing more is sent; what comes is thrown away for a while, so that the answer is not lost (RFC 9112 §9.6).
        case linger
        /// The connection ends.
        case close
    }

    /// What is to be done when the deadline has passed.
    enum Expiry: Hashable {
        /// It lies in the future again.
        case wait
        /// The connection ends.
        case close
        /// The client is told that it was too slow (408), and the connection ends.
        case answerTimeout
        /// Whether the client takes the answer is to be looked at.
        case lookAtProgress
    }

    private enum State {
        /// Nothing has come yet.
        case fresh(since: NIODeadline)
        case idle(since: NIODeadline)
        case head(since: NIODeadline)
        case exchange(Exchange)
        case lingering(since: NIODeadline)
        case closed
    }

    private struct Exchange {
        var began: NIODeadline
        var lastByte: NIODeadline
        var bodyBytes: Int64 = 0
        var isComplete = false
        /// Since when the request waits for something of ours, so that the client is not late.
        var heldSince: NIODeadline?
        var answer = AnswerState.none
        var answered: NIODeadline?
        var closes: Bool
    }

    private enum AnswerState: Hashable {
        case none
        case sending
        case sent
    }

    private let times: Times
    private var state: State
    private var isStopping = false

    /// A connection was made.
    init(times: Times, now: NIODeadline) {
        self.times = times
        // The first request's time begins with the connection.
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

    /// Whether what comes in is thrown away.
    var isLingering: Bool { if case .lingering = self.state { true } else { false } }

    /// Whether an answer is still owed or on its way.
    var isBusy: Bool { if case .exchange = self.state { true } else { false } }

    /// The first bytes of a head came.
    mutating func headBegan(now: NIODeadline) {
        switch self.state {
        case .fresh(let since): self.state = .head(since: since)
        case .idle: self.state = .head(since: now)
        case .head, .exchange, .lingering, .closed: return
        }
    }

    /// A head came whole.
    mutating func headEnded(keepsAlive: Bool, now: NIODeadline) {
        self.state = .exchange(Exchange(began: now, lastByte: now, closes: !keepsAlive || self.isStopping))
    }

    /// Bytes of the content came.
    mutating func bodyReceived(_ count: Int, now: NIODeadline) {
        guard case .exchange(var exchange) = self.state else { return }
        exchange.lastByte = now
        exchange.bodyBytes += Int64(count)
        self.state = .exchange(exchange)
    }

    /// The content was read to its end.
    mutating func requestEnded(now: NIODeadline) -> Next {
        guard case .exchange(var exchange) = self.state else { return .wait }
        exchange.isComplete = true
        exchange.lastByte = now
        self.state = .exchange(exchange)
        return self.next(exchange, now)
    }

    /// The request waits for something of ours, or no longer.
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

    /// The answer's head is about to be sent.
    ///
    /// - Parameters:
    ///   - closes: Whether the answer itself ends the connection.
    ///   - mayDrain: Whether content that has not come yet is little enough to be read and thrown away.
    ///   - now: The time.
    /// - Returns: Whether the connection ends with it.
    mutating func answerBegan(closes: Bool, mayDrain: Bool, now: NIODeadline) -> Bool {
        guard case .exchange(var exchange) = self.state else { return true }
        exchange.closes = exchange.closes || closes || self.isStopping || !exchange.isComplete && !mayDrain
        exchange.answer = .sending
        exchange.heldSince = nil
        exchange.lastByte = now
        self.state = .exchange(exchange)
        return exchange.closes
    }

    /// Some of the answer went to the client.
    mutating func progressed(now: NIODeadline) {
        guard case .exchange(var exchange) = self.state else { return }
        exchange.lastByte = now
        self.state = .exchange(exchange)
    }

    /// All of the answer went to the kernel.
    mutating func answerEnded(now: NIODeadline) -> Next {
        guard case .exchange(var exchange) = self.state else { return .wait }
        exchange.answer = .sent
        exchange.answered = now
        exchange.lastByte = now
        self.state = .exchange(exchange)
        return self.next(exchange, now)
    }

    /// The connection has ended.
    mutating func closed() { self.state = .closed }

    /// The receiver stops: no further request is taken.
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

    private mutating func next(_ exchange: Exchange, _ now: NIODeadline) -> Next {
        guard exchange.answer == .sent else { return .wait }
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

    /// When something must have happened.
    var deadline: NIODeadline {
        switch self.state {
        case .idle(let since): return since + self.times.keepAlive
        case .fresh(let since), .head(let since): return since + self.times.head
        case .lingering(let since): return since + self.times.linger
        case .closed: return .distantFuture
        case .exchange(let exchange):
            // What comes after the answer is thrown away, but not for ever.
            if let answered = exchange.answered { return answered + self.times.idle }
            guard exchange.answer == .none, !exchange.isComplete else {
                return exchange.answer == .none ? .distantFuture : exchange.lastByte + self.times.idle
            }
            if exchange.heldSince != nil { return .distantFuture }
            var deadline = exchange.lastByte + self.times.idle
            if self.times.slowest > 0 {
                // Ahead of the slowest rate allowed, and behind it by no more than the idle time.
                let earned = exchange.bodyBytes / self.times.slowest
                let allowed = exchange.began + self.times.idle + .seconds(min(earned, 1 << 30))
                deadline = min(deadline, allowed)
            }
            if let total = self.times.upload { deadline = min(deadline, exchange.began + total) }
            return deadline
        }
    }

    /// The time that the deadline was at has come.
    mutating func timerFired(now: NIODeadline) -> Expiry {
        guard now >= self.deadline else { return .wait }
        switch self.state {
        case .fresh, .idle, .lingering, .closed: return .close
        case .head: return .answerTimeout
        case .exchange(let exchange):
            return switch exchange.answer {
            case .none: .answerTimeout
            case .sending: .lookAtProgress
            case .sent: .close
            }
        }
    }
}

internal import NIOCore
internal import TransferCore
internal import TransferEngine

/// Taking responses apart, and giving them to whom they belong.
extension Connection {
    private enum Outcome {
        case drained
        case paused
        case abandoned
        case closed
        case ended(HTTPFields)
        case failed(HTTP1Error)
    }

    /// Gives what came during a pause, and then the end of the channel where that came, too.
    func deliverHeld() {
        // An empty buffer first: the end of the response may be all that is left to tell.
        self.deliver(self.held.popFirst() ?? ByteBuffer())
        self.deliverRest()
    }

    /// Gives what came while something else was given: a write that the receiver caused may find the connection broken.
    func deliverRest() {
        while !self.isPaused, self.exchange != nil, let buffer = self.held.popFirst() { self.deliver(buffer) }
        guard !self.isPaused, let end = self.pendingEnd else { return }
        self.pendingEnd = nil
        self.tell(end)
    }

    /// Gives what a read brought to the exchange.
    func deliver(_ buffer: ByteBuffer) {
        guard let exchange = self.exchange else { return }
        var consumed = 0
        self.isDelivering = true
        let outcome = buffer.withUnsafeReadableBytes { self.deliver($0, &consumed, to: exchange) }
        self.isDelivering = false
        self.resumedWhileDelivering = false
        switch outcome {
        case .drained, .abandoned:
            break
        case .paused:
            self.isPaused = true
            if consumed < buffer.readableBytes {
                var rest = buffer
                rest.moveReaderIndex(forwardBy: consumed)
                self.held.prepend(rest)
            }
        case .closed:
            exchange.abandoned()
            self.close()
        case .ended(let trailers):
            self.responseEnded(hasMore: consumed < buffer.readableBytes || !self.held.isEmpty)
            exchange.ended(trailers: trailers, cleanly: true)
        case .failed(let error):
            let unanswered = self.isReused && !self.parser.hasHead
            self.close()
            exchange.broke(.response(of: self.peer, breaks: error), unanswered: unanswered)
        }
    }

    /// Frees the connection before the receiver hears of the end, so that its next request finds it.
    private func responseEnded(hasMore: Bool) {
        // A response may come before the request was sent whole; the rest of that must not go on to the next one.
        if self.parser.shouldKeepAlive && !hasMore && self.pendingEnd == nil && !self.isStillSending {
            self.release()
        } else {
            self.close()
        }
    }

    /// The content is wanted; what the server says while it goes is awaited, as in ``send(_:of:for:isReused:)``.
    private func goAhead() {
        guard let writer = self.writer else { return }
        self.readOn()
        writer.goAhead()
    }

    private func deliver(
        _ bytes: UnsafeRawBufferPointer,
        _ consumed: inout Int,
        to exchange: HTTPExchange
    ) -> Outcome {
        while true {
            let part: ResponseParser.Part
            do {
                part = try self.parser.next(bytes, consumed: &consumed)
            } catch {
                return .failed(error)
            }
            let decision: ReadDecision
            switch part {
            case .needMore: return .drained
            case .end(let trailers): return .ended(trailers)
            case .interim(let status, let fields):
                if status == 100 { self.goAhead() }
                exchange.received(interim: status, fields)
                decision = .read
            case .head(let head):
                // An answer that is no success makes the rest of the content pointless (RFC 9112 §9.5).
                if head.status >= 300 { self.writer?.stop() } else { self.goAhead() }
                decision = exchange.received(head: head)
            case .body(let range):
                decision = exchange.received(body: UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
            // The receiver may have cancelled.
            guard self.exchange === exchange else { return .abandoned }
            switch decision {
            case .read:
                self.resumedWhileDelivering = false
            case .pause:
                if !self.resumedWhileDelivering { return .paused }
                self.resumedWhileDelivering = false
            case .close:
                guard self.parser.isAtEnd else { return .closed }
                exchange.abandoned()
                self.responseEnded(hasMore: consumed < bytes.count || !self.held.isEmpty)
                return .abandoned
            }
        }
    }
}

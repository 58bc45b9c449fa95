// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore
internal import TransferEngine

/// Parses responses and delivers them to their exchanges.
extension ClientConnection {
    private enum Outcome {
        case drained
        case paused
        case abandoned
        case closed
        case ended(HeaderFields)
        case failed(HTTP1Error)
    }

    /// Delivers the bytes that were held back, and then the end of the channel if it was reached.
    func deliverHeld() {
        // At least an empty buffer: the parser may have only the end of the response left.
        self.deliver(self.held.popFirst() ?? ByteBuffer())
        self.deliverRest()
    }

    /// Delivers bytes that arrived during a delivery: a write by the receiver may find the connection broken.
    func deliverRest() {
        while !self.isPaused, self.exchange != nil, let buffer = self.held.popFirst() { self.deliver(buffer) }
        guard !self.isPaused, let end = self.pendingEnd else { return }
        self.pendingEnd = nil
        self.tell(end)
    }

    /// Delivers the bytes of one read to the exchange.
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

    /// Releases the connection before the receiver is notified, so that its next request can reuse the connection.
    private func responseEnded(hasMore: Bool) {
        // A response may end before its request was sent completely; the next request must not follow a partial one.
        if self.parser.shouldKeepAlive && !hasMore && self.pendingEnd == nil && !self.isStillSending {
            self.release()
        } else {
            self.close()
        }
    }

    /// Starts sending content, and reads the responses that arrive meanwhile, as in ``send(_:of:for:isReused:)``.
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
            // A read that began before the quantum was set, or into a buffer that had grown, is delivered in parts.
            let end = self.readQuantum.map { min(bytes.count, consumed + max(1, $0)) } ?? bytes.count
            let part: ResponseParser.Part
            do {
                part = try self.parser.next(bytes.part(0..<end), consumed: &consumed)
            } catch {
                return .failed(error)
            }
            let decision: ReadDecision
            switch part {
            case .needMore:
                if end == bytes.count || consumed < end { return .drained }
                continue
            case .end(let trailers): return .ended(trailers)
            case .interim(let status, let fields):
                if status == 100 { self.goAhead() }
                exchange.received(interim: status, fields)
                decision = .read
            case .head(let head):
                // A status of 300 or more makes the rest of the content pointless (RFC 9112 §9.5).
                if head.status >= 300 { self.writer?.stop() } else { self.goAhead() }
                decision = exchange.received(head: head)
            case .body(let range):
                decision = exchange.received(body: bytes.part(range))
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

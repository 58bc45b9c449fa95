// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore

/// One connection to the daemon: the last handler of a channel's pipeline, with the response parser.
///
/// `@unchecked Sendable`: the variables are used on the client's event loop only. `ControlClient` calls it there by
/// `execute`, and NIO calls the handlers of a channel on its event loop, which is the same one.
final class ControlConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// When the last response ended.
    private(set) var idleSince = NIODeadline.now()

    private let loop: any EventLoop
    private let returned: (ControlConnection) -> Void
    private let lost: (ControlConnection, (any ControlExchange)?) -> Void
    private var context: ChannelHandlerContext?
    private var parser = ResponseParser(isHeadRequest: false)
    private var exchange: (any ControlExchange)?
    private var isReused = false
    private var isPaused = false
    /// When a part of the final response arrived last; a head that arrives slowly, and interim responses, do not count.
    private var lastPart = NIODeadline.now()
    private var watch: Scheduled<Void>?

    /// Creates the handler.
    ///
    /// - Parameters:
    ///   - loop: The channel's event loop.
    ///   - returned: Called when a response has ended and the connection can carry another request.
    ///   - lost: Called when it cannot carry one any more, with the exchange to repeat on another connection, if any.
    init(
        on loop: any EventLoop,
        returned: @escaping (ControlConnection) -> Void,
        lost: @escaping (ControlConnection, (any ControlExchange)?) -> Void
    ) {
        self.loop = loop
        self.returned = returned
        self.lost = lost
    }

    /// Whether a request can be sent.
    var isOpen: Bool { self.context?.channel.isActive == true }

    /// Sends a request.
    func run(_ exchange: any ControlExchange, isReused: Bool) {
        self.exchange = exchange
        self.isReused = isReused
        self.isPaused = false
        self.parser.reset(isHeadRequest: false)
        exchange.began(on: self)
        guard let context = self.context, context.channel.isActive else {
            return self.breakOff(Self.gone(exchange), unanswered: true)
        }
        self.lastPart = .now()
        self.watchPatience()
        context.writeAndFlush(self.wrapOutboundOut(exchange.request.bytes), promise: nil)
        context.read()
    }

    /// Pauses reading the response until ``resumeReading()``.
    func pauseReading() { self.isPaused = true }

    /// Resumes reading after a pause.
    func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        self.lastPart = .now()
        self.context?.read()
    }

    /// Closes the connection and reports an error to the exchange.
    func abandon(_ error: ControlError) {
        let exchange = self.exchange
        self.close()
        exchange?.failed(error)
    }

    /// Closes the connection without a report to the exchange.
    func close() {
        self.exchange = nil
        self.watch?.cancel()
        self.context?.close(promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Bytes without an exchange were not requested and cannot be interpreted.
        guard self.exchange != nil else { return self.close() }
        let buffer = self.unwrapInboundIn(data)
        buffer.withUnsafeReadableBytes { self.deliver($0) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { if !self.isPaused { context.read() } }

    func channelInactive(context: ChannelHandlerContext) {
        let exchange = self.exchange
        if let exchange {
            switch self.parser.finish() {
            case .ended, .alreadyEnded:
                self.exchange = nil
                exchange.ended()
            case .nothingBegun, .truncated: self.breakOff(Self.gone(exchange), unanswered: !self.parser.hasBegun)
            }
        }
        self.watch?.cancel()
        self.lost(self, nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let exchange = self.exchange {
            self.breakOff(
                ControlError(
                    .unreachable,
                    "the connection to the daemon broke while it was asked \(exchange.request.subject): \(error)",
                    remedy: Self.askAgain
                ),
                unanswered: !self.parser.hasBegun
            )
        }
        context.close(promise: nil)
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) {
        var consumed = 0
        while let exchange = self.exchange {
            do throws(ControlError) {
                let part: ResponseParser.Part
                do {
                    part = try self.parser.next(bytes, consumed: &consumed)
                } catch {
                    throw ControlError(
                        .protocolMismatch,
                        "what answers on the daemon's socket does not speak HTTP: \(error.description)",
                        remedy: "look which program listens there"
                    )
                }
                switch part {
                case .needMore: return
                case .interim: continue
                case .head(let head):
                    self.lastPart = .now()
                    exchange.received(head)
                case .body(let range):
                    self.lastPart = .now()
                    try exchange.received(bytes.part(range))
                case .end:
                    self.exchange = nil
                    self.watch?.cancel()
                    if self.parser.shouldKeepAlive, consumed == bytes.count {
                        self.idleSince = .now()
                        exchange.ended()
                        self.returned(self)
                    } else {
                        self.context?.close(promise: nil)
                        exchange.ended()
                    }
                    return
                }
            } catch {
                self.breakOff(error, unanswered: false)
                self.context?.close(promise: nil)
                return
            }
        }
    }

    private func breakOff(_ error: ControlError, unanswered: Bool) {
        guard let exchange = self.exchange else { return }
        self.exchange = nil
        self.watch?.cancel()
        // The daemon may have closed an idle connection at the moment of its reuse.
        if unanswered, self.isReused, exchange.request.isRepeatable, !exchange.isAbandoned {
            self.lost(self, exchange)
        } else {
            exchange.failed(error)
        }
    }

    private func watchPatience() {
        self.watch?.cancel()
        guard let patience = self.exchange?.patience else { return }
        self.watch = self.loop.assumeIsolated()
            .scheduleTask(deadline: self.lastPart + patience) {
                guard let exchange = self.exchange else { return }
                if self.isPaused { self.lastPart = .now() }
                guard self.lastPart + patience <= .now() else { return self.watchPatience() }
                self.breakOff(
                    ControlError(
                        .unreachable,
                        "the daemon did not answer \(exchange.request.subject) within \(patience.nanoseconds / 1_000_000_000) s",
                        remedy: "look at its log, or ask again later"
                    ),
                    unanswered: false
                )
                self.context?.close(promise: nil)
            }
    }

    private static func gone(_ exchange: any ControlExchange) -> ControlError {
        ControlError(
            .unreachable,
            "the daemon went away while it was asked \(exchange.request.subject)",
            remedy: Self.askAgain
        )
    }

    private static let askAgain = "look whether it was done before asking again"
}

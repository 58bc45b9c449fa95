internal import Control
internal import NIOCore
internal import NIOWebSocket

/// Serves JSON-RPC and notifications on one WebSocket.
///
/// Messages are handled one at a time. If the peer does not read, the writer waits and events accumulate in the
/// service, which ends the sequence when there are too many; then the socket is closed.
struct WebSocketConnection: Sendable {
    let channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
    let opening: WebSocketOpening
    let server: ServerParts

    private typealias Outbound = NIOAsyncChannelOutboundWriter<WebSocketFrame>

    /// Serves the WebSocket until it closes.
    func run() async {
        self.server.metrics.webSocketOpened(1)
        defer { self.server.metrics.webSocketOpened(-1) }
        let (streams, streamsContinuation) = AsyncStream.makeStream(
            of: AsyncStream<ServiceEvent>.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        // The event stream is created synchronously with the subscription, so that no later event is missed.
        let subscription = EventSubscription(isAuthenticated: self.opening.hearsNotifications) {
            streamsContinuation.yield(self.server.service.events(capacity: self.server.configuration.limits.events))
            streamsContinuation.finish()
        }
        try? await self.channel.executeThenClose { inbound, outbound in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await events in streams { await self.tell(events, subscription, outbound) }
                }
                await self.answer(inbound, subscription, outbound)
                group.cancelAll()
            }
        }
    }

    private func tell(_ events: AsyncStream<ServiceEvent>, _ subscription: EventSubscription, _ outbound: Outbound)
        async
    {
        for await event in events {
            for message in subscription.messages(for: event) {
                do {
                    try await outbound.write(self.text(message.bytes))
                } catch {
                    return
                }
            }
        }
        guard !Task.isCancelled else { return }
        // The peer read too slowly, or the service has stopped.
        await self.close(1013, outbound)
        self.channel.channel.close(promise: nil)
    }

    private func answer(
        _ inbound: NIOAsyncChannelInboundStream<WebSocketFrame>,
        _ subscription: EventSubscription,
        _ outbound: Outbound
    ) async {
        let limits = self.server.configuration.limits
        var assembler = MessageAssembler(limit: self.opening.caller.isLocal ? limits.localBody : limits.body)
        do {
            for try await frame in inbound {
                let action = assembler.frameReceived(
                    MessageAssembler.Opcode(frame.opcode),
                    isFinal: frame.fin,
                    isMasked: frame.maskKey != nil,
                    hasReservedBits: frame.rsv1 || frame.rsv2 || frame.rsv3,
                    frame.unmaskedData.readableBytesView
                )
                switch action {
                case .wait: break
                case .pong(let bytes):
                    try await outbound.write(
                        WebSocketFrame(fin: true, opcode: .pong, data: ByteBuffer(bytes: bytes))
                    )
                case .message(let bytes): try await self.answer(bytes, subscription, outbound)
                case .close(let code):
                    await self.close(code, outbound)
                    return
                }
            }
        } catch {
            // The connection is closed; no peer is left to notify.
        }
    }

    private func answer(_ bytes: [UInt8], _ subscription: EventSubscription, _ outbound: Outbound) async throws {
        let answer = await self.server.dispatcher.answer(
            RPCEnvelope(parsing: bytes),
            from: self.opening.caller,
            subscription: subscription
        )
        if answer.hasFailedAuthentication { await self.server.failedAuthentication(from: self.opening.address) }
        try await outbound.write(self.text(answer.bytes))
    }

    private func text(_ bytes: [UInt8]) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: bytes))
    }

    private func close(_ code: UInt16, _ outbound: Outbound) async {
        var data = ByteBuffer()
        data.writeInteger(code)
        try? await outbound.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
    }
}

extension MessageAssembler.Opcode {
    /// Converts the opcode of a decoded frame.
    fileprivate init(_ opcode: WebSocketOpcode) {
        switch opcode {
        case .continuation: self = .continuation
        case .text: self = .text
        case .binary: self = .binary
        case .connectionClose: self = .close
        case .ping: self = .ping
        case .pong: self = .pong
        default: self = .unknown
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOWebSocket

/// A WebSocket with text messages.
///
/// The messages are received one at a time: while one is handled, no more than a few frames are read.
package struct WebSocket: Sendable {
    private let inbound: NIOAsyncChannelInboundStream<WebSocketFrame>
    private let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    private let channel: any Channel
    private let limit: Int
    /// The client's share of memory until it is authenticated.
    private let lease: ContentLease?

    /// Serves a WebSocket on a channel, and closes it.
    static func run(
        _ channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>,
        _ upgrade: WebSocketUpgrade,
        _ lease: ContentLease?
    ) async {
        try? await channel.executeThenClose { inbound, outbound in
            await upgrade.serve(
                WebSocket(
                    inbound: inbound,
                    outbound: outbound,
                    channel: channel.channel,
                    limit: upgrade.limit,
                    lease: lease
                )
            )
        }
    }

    /// Receives messages until the WebSocket closes; responds to pings and to violations of the protocol.
    ///
    /// Can be called once.
    ///
    /// - Parameter body: Handles a message, which is valid UTF-8. An error that it throws ends the reception.
    package func receive(_ body: ([UInt8]) async throws -> Void) async {
        var assembler = MessageAssembler(limit: self.limit)
        // The number of received bytes that have not been handled.
        var received = 0
        do {
            for try await frame in self.inbound {
                received += frame.length
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
                    try await self.outbound.write(
                        WebSocketFrame(fin: true, opcode: .pong, data: ByteBuffer(bytes: bytes))
                    )
                    // A ping may be between the frames of a message.
                    received -= frame.length
                    self.lease?.shrink(by: frame.length)
                case .message(let bytes):
                    try await body(bytes)
                    self.lease?.shrink(by: received)
                    received = 0
                case .close(let code): return await self.sendClose(code)
                }
            }
        } catch {
            // The connection is closed; no client is left to notify.
        }
    }

    /// Sends a text message, and waits until the connection can take more.
    ///
    /// - Throws: An error of NIO if the connection is closed.
    package func send(_ text: [UInt8]) async throws {
        try await self.outbound.write(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: text)))
    }

    /// Closes the WebSocket with a status code.
    ///
    /// - Source: RFC 6455 §7.4.
    package func close(_ code: UInt16) async {
        await self.sendClose(code)
        self.channel.close(promise: nil)
    }

    private func sendClose(_ code: UInt16) async {
        var data = ByteBuffer()
        data.writeInteger(code)
        try? await self.outbound.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
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

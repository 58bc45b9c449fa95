// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOWebSocket

/// Decodes the frames of a WebSocket, and limits messages until one of them authenticates the client.
///
/// The frame decoder of NIO collects complete frames. Until the client is authenticated it gets only frames that have
/// arrived completely, and a message that is too large closes the WebSocket with code 1009 unless it has a credential
/// within the limit.
final class ScreenedFrameDecoder: ByteToMessageDecoder {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = WebSocketFrame

    /// The state while the client is not authenticated.
    private struct Screened {
        let screening: ContentScreening
        let lease: ContentLease
        var screen: any ContentScreen
        /// The number of bytes of the current message's earlier frames.
        var pending = 0
        /// The number of bytes in the buffer that are counted.
        var buffered = 0

        /// Updates the number of bytes that wait in the buffer.
        mutating func count(buffered: Int) throws {
            if buffered > self.buffered {
                guard self.lease.grow(by: buffered - self.buffered) else { throw NIOWebSocketError.invalidFrameLength }
            } else {
                self.lease.shrink(by: self.buffered - buffered)
            }
            self.buffered = buffered
        }
    }

    private let frames: WebSocketFrameDecoder
    private let limit: Int
    private var screened: Screened?

    /// Creates a decoder.
    ///
    /// - Parameters:
    ///   - limit: The maximum size of a frame in bytes.
    ///   - screening: The limits while the client is not authenticated, and its share of memory; `nil` if it is.
    init(limit: Int, screening: (ContentScreening, ContentLease)?) {
        self.frames = WebSocketFrameDecoder(maxFrameSize: limit)
        self.limit = limit
        self.screened = screening.map { Screened(screening: $0.0, lease: $0.1, screen: $0.0.screen()) }
    }

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        guard try self.isReady(&buffer) else { return .needMoreData }
        return try self.frames.decode(context: context, buffer: &buffer)
    }

    /// Returns whether the next frame can be decoded: a complete one, or any one of an authenticated client.
    private func isReady(_ buffer: inout ByteBuffer) throws -> Bool {
        guard var screened = self.screened else { return true }
        defer { if self.screened != nil { self.screened = screened } }
        guard let head = FrameHead(buffer) else {
            try screened.count(buffered: buffer.readableBytes)
            return false
        }
        // The decoder refuses it at once.
        if head.length > self.limit || head.isControl && (head.length > 125 || !head.isFinal) { return true }
        guard head.size + min(head.length, screened.screening.limit) <= buffer.readableBytes else {
            try screened.count(buffered: buffer.readableBytes)
            return false
        }
        if !head.isControl {
            let room = screened.screening.limit - screened.pending
            let first = head.content(buffer, atMost: room)
            if first.withUnsafeBytes({ screened.screen.admits($0) }) {
                screened.lease.close()
                self.screened = nil
                return true
            }
            guard head.length <= room else { throw NIOWebSocketError.invalidFrameLength }
            screened.pending = head.isFinal ? 0 : screened.pending + head.length
            if head.isFinal { screened.screen = screened.screening.screen() }
        }
        try screened.count(buffered: max(0, buffer.readableBytes - head.size - head.length))
        // Until the message has been handled.
        guard screened.lease.grow(by: head.length) else { throw NIOWebSocketError.invalidFrameLength }
        return true
    }
}

/// The head of a frame that is still in the buffer.
///
/// - Source: RFC 6455 §5.2.
private struct FrameHead {
    let isFinal: Bool
    let isControl: Bool
    /// The size of the head in bytes.
    let size: Int
    /// The size of the content in bytes; clamped.
    let length: Int
    private let mask: [UInt8]

    /// Parses the head at the beginning of a buffer; `nil` if it is incomplete.
    init?(_ buffer: ByteBuffer) {
        let bytes = buffer.readableBytesView
        guard let first = bytes.first, let second = bytes.dropFirst().first else { return nil }
        let lengthSize =
            switch second & 0x7F {
            case 126: 2
            case 127: 8
            default: 0
            }
        let maskSize = second & 0x80 == 0 ? 0 : 4
        guard bytes.count >= 2 + lengthSize + maskSize else { return nil }
        let extended = bytes.dropFirst(2).prefix(lengthSize).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.isFinal = first & 0x80 != 0
        self.isControl = first & 0x08 != 0
        self.size = 2 + lengthSize + maskSize
        self.length = lengthSize == 0 ? Int(second & 0x7F) : min(Int(clamping: extended), Int(UInt32.max) + 1)
        self.mask = Array(bytes.dropFirst(2 + lengthSize).prefix(maskSize))
    }

    /// The unmasked beginning of the content.
    func content(_ buffer: ByteBuffer, atMost limit: Int) -> [UInt8] {
        let masked = buffer.readableBytesView.dropFirst(self.size).prefix(min(self.length, limit))
        guard self.mask.count == 4 else { return Array(masked) }
        return masked.enumerated().map { $0.element ^ self.mask[$0.offset % 4] }
    }
}

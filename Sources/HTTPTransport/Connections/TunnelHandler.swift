// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import TransferCore
internal import TransferEngine

/// Requests a tunnel from a proxy, then replaces itself by the TLS handler for the origin.
///
/// - Source: RFC 9110 §9.3.6.
final class TunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case waiting
        /// CONNECT was sent.
        case asking
        case over
    }

    private let origin: Origin
    private let proxy: ProxyServer
    private let userAgent: String?
    /// An additional check of the proxy's certificate after its handshake, if any.
    private let proxyCheck: CertificateCheck?
    private let inside: NIOSSLClientHandler
    private let connection: ClientConnection
    private var phase = Phase.waiting
    private var parser: ResponseParser

    init(
        to origin: Origin,
        by proxy: ProxyServer,
        userAgent: String?,
        proxyCheck: CertificateCheck?,
        inside: NIOSSLClientHandler,
        maximumHeadSize: Int,
        connection: ClientConnection
    ) {
        self.origin = origin
        self.proxy = proxy
        self.userAgent = userAgent
        self.proxyCheck = proxyCheck
        self.inside = inside
        self.connection = connection
        var limits = ResponseParser.Limits()
        limits.headBytes = maximumHeadSize
        // As for HEAD: a response to CONNECT has no content, whatever its Content-Length.
        self.parser = ResponseParser(isHeadRequest: true, limits: limits)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive, self.proxy.origin.scheme == .http { self.ask(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        if self.proxy.origin.scheme == .http { self.ask(context) }
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent {
            // The handshake with the proxy; the connection must only observe the origin's.
            if case .handshakeCompleted = event { self.proxyHandshakeCompleted(context) }
            return
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func proxyHandshakeCompleted(_ context: ChannelHandlerContext) {
        guard self.phase == .waiting else { return }
        guard let error = self.proxyCheck?.failure(of: Peer(self.proxy)) else { return self.ask(context) }
        self.phase = .over
        context.fireErrorCaught(error)
    }

    private func ask(_ context: ChannelHandlerContext) {
        guard self.phase == .waiting else { return }
        self.phase = .asking
        self.connection.openingStep = "the request for a tunnel"
        let request = RequestHeadEncoder.encodeConnect(
            to: self.origin,
            by: self.proxy,
            userAgent: self.userAgent,
            allocator: context.channel.allocator
        )
        context.writeAndFlush(self.wrapOutboundOut(request), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = self.unwrapInboundIn(data)
        guard self.phase != .over else { return }
        var consumed = 0
        do {
            guard let head = try self.head(buffer, &consumed) else { return }
            self.phase = .over
            guard (200..<300).contains(head.status) else {
                throw TransportError.tunnelRefused(to: self.origin, by: self.proxy, head)
            }
            guard consumed == buffer.readableBytes else { throw TransportError.tunnelSpokeFirst(self.proxy) }
            self.connection.tunnelOpened(self.inside)
            let pipeline = context.pipeline.syncOperations
            try pipeline.addHandler(self.inside, position: .after(self))
            pipeline.removeHandler(context: context, promise: nil)
        } catch let error as HTTP1Error {
            self.phase = .over
            context.fireErrorCaught(TransportError.response(of: Peer(self.proxy), breaks: error))
        } catch {
            self.phase = .over
            context.fireErrorCaught(error)
        }
    }

    /// The head of the response when it is complete; `nil` if more bytes are needed.
    private func head(_ buffer: ByteBuffer, _ consumed: inout Int) throws(HTTP1Error) -> ResponseHead? {
        let result = buffer.withUnsafeReadableBytes { (bytes) -> Result<ResponseParser.Part, HTTP1Error> in
            Result { () throws(HTTP1Error) in try self.parser.next(bytes, consumed: &consumed) }
        }
        switch try result.get() {
        case .head(let head): return head
        case .interim: return try self.head(buffer, &consumed)
        case .needMore, .body, .end: return nil
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import NIOCore
import TransferCore

/// One connection of an ``UploadServer``.
final class UploadConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case head
        case length(Int64)
        case chunkSize
        case chunk(Int)
        case chunkEnd
        case trailers
        case over
    }

    private let server: UploadServer
    private let number: Int
    private var buffer = ByteBuffer()
    private var phase = Phase.head
    private var handling: UploadHandling?
    private var isSuspended = false

    init(_ server: UploadServer, _ number: Int) {
        self.server = server
        self.number = number
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var data = self.unwrapInboundIn(data)
        self.buffer.writeBuffer(&data)
        self.run(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.phase = .over
        self.server.ended(context.channel)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func run(_ context: ChannelHandlerContext) {
        while !self.isSuspended, self.step(context) {}
        self.buffer.discardReadBytes()
    }

    private func step(_ context: ChannelHandlerContext) -> Bool {
        switch self.phase {
        case .over: return false
        case .head:
            guard let text = self.block() else { return false }
            self.began(text, context)
            return true
        case .length(let left):
            if left == 0 {
                self.ended(context)
                return true
            }
            guard let count = self.take(Int(min(left, 1 << 30)), context), count > 0 else { return false }
            if case .length = self.phase { self.phase = .length(left - Int64(count)) }
            return true
        case .chunkSize:
            guard let line = self.line() else { return false }
            let size = Int(line.prefix { $0 != ";" }, radix: 16) ?? 0
            self.phase = size == 0 ? .trailers : .chunk(size)
            return true
        case .chunk(let left):
            guard let count = self.take(left, context), count > 0 else { return false }
            if case .chunk = self.phase { self.phase = left == count ? .chunkEnd : .chunk(left - count) }
            return true
        case .chunkEnd:
            guard self.line() != nil else { return false }
            self.phase = .chunkSize
            return true
        case .trailers:
            guard let line = self.line() else { return false }
            if line.isEmpty { self.ended(context) }
            return true
        }
    }

    // MARK: Parts of requests

    /// Returns a head with its empty line.
    private func block() -> String? {
        let view = self.buffer.readableBytesView
        var index = view.startIndex
        while index + 3 < view.endIndex {
            if view[index] == 13, view[index + 1] == 10, view[index + 2] == 13, view[index + 3] == 10 {
                return self.buffer.readString(length: index + 4 - view.startIndex)
            }
            index += 1
        }
        return nil
    }

    private func line() -> String? {
        let view = self.buffer.readableBytesView
        guard let end = view.firstIndex(of: 10) else { return nil }
        let text = self.buffer.readString(length: end + 1 - view.startIndex) ?? ""
        return String(text.prefix { $0 != "\r" && $0 != "\r\n" && $0 != "\n" })
    }

    /// Takes content from the buffer; returns `nil` if the connection ends.
    private func take(_ most: Int, _ context: ChannelHandlerContext) -> Int? {
        guard let handling = self.handling else { return nil }
        var count = min(most, self.buffer.readableBytes)
        guard count > 0 else { return 0 }
        if let rate = handling.rate { count = min(count, max(1, rate / 50)) }
        if let cut = handling.cut { count = min(count, Int(cut - handling.received)) }
        let loop = context.eventLoop
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        let goOn = { @Sendable in
            let (connection, context) = bound.value
            connection.goOn(context)
        }
        let room = self.server.room { loop.execute(goOn) }
        guard room > 0 else {
            self.suspend(context)
            return 0
        }
        count = Int(min(Int64(count), room))
        var isTaken = true
        if count > 0, let bytes = self.buffer.readBytes(length: count) { isTaken = handling.took(bytes) }
        if !isTaken || handling.cut.map({ handling.received >= $0 }) ?? false {
            if let farewell = handling.farewell { self.send(farewell, context) }
            self.close(context)
            return nil
        }
        if let rate = handling.rate {
            self.suspend(context)
            loop.scheduleTask(in: .nanoseconds(Int64(count) * 1_000_000_000 / Int64(rate)), goOn)
        }
        return count
    }

    /// Stops reading: further bytes stay in the kernel, so that the client experiences backpressure.
    private func suspend(_ context: ChannelHandlerContext) {
        self.isSuspended = true
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    }

    private func goOn(_ context: ChannelHandlerContext) {
        self.isSuspended = false
        self.run(context)
        if !self.isSuspended { try? context.channel.syncOptions?.setOption(.autoRead, value: true) }
    }

    private func began(_ text: String, _ context: ChannelHandlerContext) {
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)
        let words = (lines.first ?? "").split(separator: " ")
        var fields = HeaderFields()
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields.append(
                String(line[..<colon]),
                String(line[line.index(after: colon)...].drop { $0 == " " })
            )
        }
        guard words.count == 3 else { return context.close(promise: nil) }
        let request = UploadServer.Request(
            method: String(words[0]),
            target: String(words[1]),
            fields: fields,
            connection: self.number
        )
        let handling = UploadHandling(self.server, request)
        self.handling = handling
        if let reply = handling.atOnce {
            self.send(reply, context)
            let hasContent = fields["Transfer-Encoding"] != nil || (fields["Content-Length"] ?? "0") != "0"
            if hasContent || reply.closes {
                self.close(context)
            }
            return
        }
        if let interim = handling.interim() { self.write(interim, context) }
        if fields["Expect"] != nil, handling.saysContinue { self.write("HTTP/1.1 100 Continue\r\n\r\n", context) }
        self.phase =
            fields["Transfer-Encoding"] != nil
            ? .chunkSize : .length(fields["Content-Length"].flatMap { Int64($0) } ?? 0)
    }

    /// Closes the connection when all written bytes were passed to the kernel; content that still arrives is ignored.
    private func close(_ context: ChannelHandlerContext) {
        self.phase = .over
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer()))
            .whenComplete { _ in
                bound.value.close(promise: nil)
            }
    }

    private func ended(_ context: ChannelHandlerContext) {
        self.phase = .head
        guard let reply = self.handling?.ended() else { return }
        self.handling = nil
        self.send(reply, context)
    }

    private func send(_ reply: UploadServer.Reply, _ context: ChannelHandlerContext) {
        var text = "HTTP/1.1 \(reply.status) Status\r\n"
        for (name, value) in reply.fields { text += "\(name): \(value)\r\n" }
        if reply.status != 204 { text += "Content-Length: \(reply.body.utf8.count)\r\n" }
        if reply.closes { text += "Connection: close\r\n" }
        let isHead = self.handling?.isHead ?? false
        self.write(text + "\r\n" + (isHead || reply.status == 204 ? "" : reply.body), context)
    }

    private func write(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(context.channel.allocator.buffer(string: text)), promise: nil)
    }
}

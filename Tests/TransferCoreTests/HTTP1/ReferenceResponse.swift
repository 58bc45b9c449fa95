// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import NIOHTTP1
import TransferCore

/// What llhttp, as NIOHTTP1 drives it, takes a response for.
struct ReferenceResponse {
    var status: Int?
    var fields: [String] = []
    var body: [UInt8] = []
    var trailers: [String] = []
    var hasEnded = false
    var hasFailed = false

    init(_ bytes: [UInt8]) {
        let decoder = HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .drop)
        let channel = EmbeddedChannel(handler: ByteToMessageHandler(decoder))
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        do {
            let request = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
            try channel.writeOutbound(HTTPClientRequestPart.head(request))
            try channel.writeOutbound(HTTPClientRequestPart.end(nil))
            try channel.writeInbound(ByteBuffer(bytes: bytes))
        } catch {
            self.hasFailed = true
        }
        self.collect(from: channel)
        guard !self.hasEnded, !self.hasFailed else { return }
        channel.pipeline.fireChannelInactive()
        do { try channel.throwIfErrorCaught() } catch { self.hasFailed = true }
        self.collect(from: channel)
    }

    private mutating func collect(from channel: EmbeddedChannel) {
        while !self.hasEnded, let part = try? channel.readInbound(as: HTTPClientResponsePart.self) {
            switch part {
            case .head(let head):
                self.status = Int(head.status.code)
                self.fields = head.headers.map { "\($0.name.lowercased()): \($0.value)" }
            case .body(let buffer):
                self.body += buffer.readableBytesView
            case .end(let trailers):
                self.trailers = trailers?.map { "\($0.name.lowercased()): \($0.value)" } ?? []
                self.hasEnded = true
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// Sends the content of one request: pulls pieces when the connection has room, as the kernel accepts them.
///
/// Bytes that the connection has accepted arrive at the server even if the process dies.
///
/// `@unchecked Sendable`: a world runs on one thread.
final class ContentSender: @unchecked Sendable {
    /// The handler of the sender's events.
    enum Event {
        case interim(Int, HeaderFields)
        case reply(ServerReply)
        case broken(TransportError.Code)
    }

    /// The largest number of bytes that are accepted and have not been read by the server.
    private static let window: Int64 = 128 << 10
    /// The largest piece that travels at once.
    private static let most = 48 << 10

    /// The source, until the exchange ends.
    private var content: (any RequestContent)?
    private let length: Int64?
    private let server: any ReceivingServer
    private let request: ServerRequest
    private let transport: SimulatedTransport
    private let lane: Int
    private let onEvent: (Event) -> Void
    private var terms = ContentTerms()
    /// Whether the content waits for 100 (Continue).
    private var isHeldBack = false
    private var isPulling = false
    /// Whether the source passes the next piece later.
    private var isAwaiting = false
    /// The piece that is being sent, and how much of it was accepted.
    private var piece: (content: ContentPiece, done: Int)?
    private var accepted: Int64 = 0
    /// The number of bytes that the server has read.
    private var read: Int64 = 0
    private var inbox: [ArraySlice<UInt8>] = []
    private var isStalled = false
    /// The time at which the last accepted bytes leave.
    private var freeAt: Int64 = 0
    /// Whether the source has no more bytes.
    private var hasEnded = false
    /// Whether the exchange has ended.
    private var isStopped = false
    /// Whether the server expects no more content.
    private var isOver = false

    private var scheduler: Scheduler { self.transport.network.scheduler }
    private var halfTrip: Int64 { self.transport.network.roundTrip / 2 }

    /// Creates a sender; the head of the request has just arrived.
    init(
        _ content: any RequestContent,
        to server: any ReceivingServer,
        _ request: ServerRequest,
        _ transport: SimulatedTransport,
        lane: Int,
        _ onEvent: @escaping (Event) -> Void
    ) {
        self.content = content
        self.length = content.length
        self.server = server
        self.request = request
        self.transport = transport
        self.lane = lane
        self.onEvent = onEvent
    }

    /// Whether all the content was sent.
    private(set) var isWhole = false

    /// The head of the request arrives at the server.
    ///
    /// - Parameter timeout: How long the content waits for 100 (Continue), or `nil`.
    func begin(waitingAtMost timeout: Int64?) {
        self.terms = self.server.began(self.request, length: self.length)
        self.isHeldBack = timeout != nil
        for interim in self.terms.interim {
            self.later(self.halfTrip) { self.receive(interim.status, interim.fields) }
        }
        if let reply = self.terms.reply {
            self.isOver = true
            self.onEvent(.reply(reply))
        }
        if let timeout { self.later(timeout) { self.sendContent() } } else { self.pull() }
    }

    /// The exchange ended: nothing more is accepted.
    func stop() {
        self.isStopped = true
        self.content = nil
        self.piece = nil
        if self.isStalled || self.accepted == self.read { self.interrupt() }
    }

    private func receive(_ status: Int, _ fields: HeaderFields) {
        self.onEvent(.interim(status, fields))
        if status == 100 { self.sendContent() }
    }

    private func sendContent() {
        guard self.isHeldBack else { return }
        self.isHeldBack = false
        self.pull()
    }

    private func later(_ delay: Int64, _ work: @escaping () -> Void) {
        self.transport.schedule(after: delay, onLane: self.lane) { if !self.isStopped { work() } }
    }

    // MARK: The process

    /// Accepts bytes as long as there is room.
    private func pull() {
        guard !self.isPulling, !self.isHeldBack else { return }
        self.isPulling = true
        defer { self.isPulling = false }
        while !self.hasEnded, !self.isAwaiting, let content, self.accepted - self.read < Self.window {
            if let piece = self.piece {
                self.accept(piece.content, from: piece.done)
            } else if let next = content.next({ piece in
                self.transport.execute(onLane: self.lane) { self.take(piece) }
            }) {
                self.piece = (next, 0)
            } else {
                self.isAwaiting = true
            }
        }
    }

    private func take(_ piece: ContentPiece) {
        self.isAwaiting = false
        self.piece = (piece, 0)
        self.pull()
    }

    private func accept(_ piece: ContentPiece, from done: Int) {
        switch piece {
        case .bytes(let bytes):
            let end = min(bytes.count, done + Self.most)
            self.piece = end == bytes.count ? nil : (piece, end)
            self.travel(bytes[done..<end])
        case .file(let file, let offset, let count):
            let wanted = min(count - done, Self.most)
            var bytes = [UInt8](repeating: 0, count: wanted)
            let got = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: offset + Int64(done))) ?? 0 }
            guard got == wanted else { return self.fail() }
            self.piece = done + wanted == count ? nil : (piece, done + wanted)
            self.travel(bytes[...])
        case .afterwards: self.piece = nil
        case .end:
            self.hasEnded = true
            if self.read == self.accepted { self.complete() }
        case .failed: self.fail()
        }
        // Content of a known length ends with its last byte.
        if let length, length > 0, self.accepted == length { self.hasEnded = true }
    }

    private func fail() {
        // What was accepted still arrives, and nothing is pulled any more.
        self.isAwaiting = true
        self.onEvent(.broken(.content))
    }

    private func travel(_ bytes: ArraySlice<UInt8>) {
        let count = Int64(bytes.count)
        self.accepted += count
        let start = max(self.freeAt, self.scheduler.now)
        self.freeAt = start + count * 1_000_000_000 / max(1, self.terms.rate)
        self.content?.sent(bytes.count)
        // In no process: what the kernel has accepted arrives.
        self.scheduler.schedule(after: self.freeAt + self.halfTrip - self.scheduler.now) {
            self.inbox.append(bytes)
            self.readInbox()
        }
    }

    // MARK: The server

    private func readInbox() {
        while !self.isOver, !self.isStalled, let bytes = self.inbox.first {
            if let stall = self.terms.stall, self.read + Int64(bytes.count) > stall.after {
                self.stall(stall.duration)
            } else {
                self.inbox.removeFirst()
                self.read(bytes)
            }
        }
    }

    private func stall(_ duration: Int64?) {
        self.isStalled = true
        guard let duration else { return }
        self.scheduler.schedule(after: duration) {
            self.terms.stall = nil
            self.isStalled = false
            self.readInbox()
        }
    }

    private func read(_ bytes: ArraySlice<UInt8>) {
        var bytes = bytes
        let cut = self.terms.cut.flatMap { self.read + Int64(bytes.count) > $0.after ? $0 : nil }
        if let cut { bytes = bytes.prefix(Int(max(0, cut.after - self.read))) }
        self.read += Int64(bytes.count)
        let reply = bytes.isEmpty ? nil : self.server.received(bytes, of: self.request)
        if let cut {
            self.interrupt()
            return self.later(self.halfTrip) { self.onEvent(.broken(cut.code)) }
        }
        if let reply {
            self.isOver = true
            return self.onEvent(.reply(reply))
        }
        if self.read == self.accepted {
            if self.hasEnded { return self.complete() }
            if self.isStopped || !self.transport.process.isAlive { return self.interrupt() }
        }
        self.later(self.halfTrip) { self.pull() }
    }

    private func complete() {
        guard !self.isOver else { return }
        self.isOver = true
        self.isWhole = true
        self.onEvent(.reply(self.server.completed(self.request)))
    }

    private func interrupt() {
        guard !self.isOver else { return }
        self.isOver = true
        self.server.interrupted(self.request)
    }
}

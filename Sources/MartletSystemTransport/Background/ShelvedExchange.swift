// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import TransferCore
internal import TransferEngine

/// An exchange that waits for a response of a background session, and then reads it from the shelf.
///
/// `@unchecked Sendable`: the variables are used on the lane only; commands from other threads are passed to it.
final class ShelvedExchange: Exchange, @unchecked Sendable {
    let number: Int
    let key: BackgroundKey
    let request: ExchangeRequest
    /// The transport that has started it.
    let owner: ObjectIdentifier

    private let lane: SystemLane
    private var receiver: (any ExchangeReceiver)?
    private var file: FileHandle?
    private var left: Int64 = 0
    private var isVerified = true
    private var quantum: Int
    private var isPaused = false
    private var isReading = false
    private var isDelivering = false
    private var wasResumed = false
    private let ended: (ShelvedExchange, _ isUsedUp: Bool) -> Void

    private static let defaultQuantum = 256 << 10

    init(
        _ number: Int,
        _ request: ExchangeRequest,
        on lane: SystemLane,
        owner: ObjectIdentifier,
        receiver: any ExchangeReceiver,
        ended: @escaping (ShelvedExchange, _ isUsedUp: Bool) -> Void
    ) {
        self.number = number
        self.key = BackgroundKey(request)
        self.request = request
        self.lane = lane
        self.owner = owner
        self.receiver = receiver
        self.quantum = max(1, request.readQuantum ?? Self.defaultQuantum)
        self.ended = ended
    }

    // MARK: Exchange

    func resumeReading() {
        self.lane.execute {
            self.wasResumed = true
            self.isPaused = false
            if self.file != nil { self.readLater() }
        }
    }

    func cancel() { self.lane.execute { self.end(isUsedUp: false) } }

    func setReadQuantum(_ bytes: Int?) { self.lane.execute { self.quantum = max(1, bytes ?? Self.defaultQuantum) } }

    // MARK: The response

    /// Delivers a response, from the next visit of the lane on.
    func deliver(_ response: ShelvedResponse, _ file: FileHandle) {
        self.lane.later {
            guard let receiver = self.receiver else { return }
            let (head, bytes) = response.response(to: self.key)
            do {
                try file.seek(toOffset: UInt64(bytes.lowerBound))
            } catch {
                return self.fail(Self.unreadable(error), isUsedUp: true)
            }
            self.file = file
            self.left = bytes.upperBound - bytes.lowerBound
            self.isVerified = head.declaredLength != nil
            receiver.exchangeConnected()
            self.decide { $0.exchangeReceived(head: head) }
            self.readLater()
        }
    }

    /// Fails the exchange.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - isUsedUp: Whether its response cannot be delivered to another exchange either.
    func fail(_ error: TransportError, isUsedUp: Bool = false) {
        var error = error
        error.peer = error.peer ?? self.request.url.origin
        let receiver = self.receiver
        self.end(isUsedUp: isUsedUp)
        receiver?.exchangeFailed(error)
    }

    private static func unreadable(_ error: any Error) -> TransportError {
        TransportError(.localResource, "a received file cannot be read: \(error.localizedDescription)")
    }

    /// Other exchanges of the lane are served between two blocks.
    private func readLater() {
        guard !self.isReading, !self.isPaused, !self.isDelivering, self.receiver != nil else { return }
        self.isReading = true
        self.lane.later { self.read() }
    }

    private func read() {
        self.isReading = false
        guard !self.isPaused, let receiver = self.receiver, let file = self.file else { return }
        guard self.left > 0 else {
            let isVerified = self.isVerified
            self.end(isUsedUp: true)
            return receiver.exchangeEnded(trailers: [:], cleanly: isVerified)
        }
        do {
            let count = Int(min(Int64(self.quantum), self.left))
            guard let data = try file.read(upToCount: count), !data.isEmpty else {
                return self.fail(TransportError(.truncated, "a received file is shorter than it was"), isUsedUp: true)
            }
            self.left -= Int64(data.count)
            self.decide { receiver in data.withUnsafeBytes { receiver.exchangeReceived(body: $0) } }
        } catch {
            return self.fail(Self.unreadable(error), isUsedUp: true)
        }
        self.readLater()
    }

    private func decide(_ call: (any ExchangeReceiver) -> ReadDecision) {
        guard let receiver = self.receiver else { return }
        (self.isDelivering, self.wasResumed) = (true, false)
        let decision = call(receiver)
        self.isDelivering = false
        switch decision {
        case .read: break
        case .pause: if !self.wasResumed { self.isPaused = true }
        // The engine does not want this response, and must not get it again.
        case .close: self.end(isUsedUp: true)
        }
    }

    private func end(isUsedUp: Bool) {
        guard self.receiver != nil else { return }
        self.receiver = nil
        try? self.file?.close()
        self.file = nil
        self.ended(self, isUsedUp)
    }
}

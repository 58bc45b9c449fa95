// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// The byte path: from the exchange to the file or the stream, on the event loop that read the bytes.
extension DownloadRun {
    func received(_ body: UnsafeRawBufferPointer, on exchange: DownloadExchange) -> ReadDecision {
        let now = self.now
        let number = exchange.number
        let destination = self.state.withLock { $0.machine.bytesReceived(body, number, now) }
        do throws(StorageError) {
            switch destination {
            case .nowhere: return .close
            case .discarded: return .read
            case .tooMany:
                self.handle { $0.drainingEnded(number, now) }
                return .close
            case .unexpected:
                self.handle { $0.unexpectedBytes(number, now) }
                return .close
            case .compare(let count, let index, let offset):
                return self.compare(body, count, index, offset, exchange)
            case .small: try exchange.small?.append(body)
            case .partial(let skip, let offset, let count):
                if skip > 0, try !self.holds(body.part(0..<skip), at: offset) {
                    self.handle { $0.repetitionDiffers(number, self.now) }
                    return .close
                }
                if skip == body.count { break }
                guard let file = exchange.file, let extent = exchange.extent else {
                    self.handle { $0.unexpectedBytes(number, now) }
                    return .close
                }
                let kept = body.part(skip..<skip + count)
                try file.write(kept, extent: extent)
                exchange.digests?.update(kept)
                self.handle { $0.wrote(count, of: body.count - skip, number, now) }
                if exchange.isClosed { return .close }
            case .stream(let skip, let offset, let count):
                return self.deliver(body, skip: skip, offset: offset, count: count, exchange, now)
            }
        } catch {
            self.handle { $0.failed(TransferFailure(error)) }
            return .close
        }
        return self.host.isThrottling ? self.throttle(exchange, body.count, now) : .read
    }

    // MARK: Comparing

    /// Whether the partial file has the bytes that a response repeats.
    private func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StorageError) -> Bool {
        guard case .partial(let file) = self.file else { return false }
        return try file.holds(bytes, at: offset)
    }

    /// Compares the overlap at the beginning of a response with the held bytes.
    private func compare(
        _ body: UnsafeRawBufferPointer,
        _ count: Int,
        _ index: Int,
        _ offset: Int64,
        _ exchange: DownloadExchange
    ) -> ReadDecision {
        let bytes = body.part(0..<count)
        let rest = body.part(count..<body.count)
        let agree: Bool
        if let receiver = self.comparingReceiver {
            do throws(TransferFailure) {
                agree = try receiver.holds(bytes, at: offset)
            } catch {
                self.handle { $0.failed(error) }
                return .close
            }
        } else {
            agree =
                index + count <= exchange.expected.count
                && exchange.expected.withUnsafeBytes {
                    $0.part(index..<index + count).elementsEqual(bytes)
                }
        }
        exchange.digests?.update(bytes)
        self.handle { $0.compared(count, agree: agree, exchange.number, self.now) }
        if exchange.isClosed { return .close }
        switch self.reading(exchange) {
        case .close: return .close
        case .read: return rest.isEmpty ? .read : self.received(rest, on: exchange)
        case .pause:
            exchange.leftover = Array(rest)
            return .pause
        }
    }

    /// The receiver that keeps the bytes, so that repeated ones are compared with them.
    private var comparingReceiver: (any BodyReceiver)? {
        guard case .memory(let receiver) = self.shared.options.destination, receiver.keepsBytes,
            self.state.withLock({ $0.machine.isStream })
        else { return nil }
        return receiver
    }

    /// Delivers the bytes that arrived while the file was being copied; on the event loop.
    func deliverLeftover(_ exchange: DownloadExchange) {
        let leftover = exchange.leftover
        exchange.leftover = []
        exchange.expected = []
        let now = self.now
        guard self.state.withLock({ $0.machine.resumed(exchange.number, now) }) else { return }
        let decision = leftover.isEmpty ? .read : leftover.withUnsafeBytes { self.received($0, on: exchange) }
        switch decision {
        case .read, .close: exchange.applyReading()
        case .pause: break
        }
    }

    // MARK: Streams

    private func deliver(
        _ body: UnsafeRawBufferPointer,
        skip: Int,
        offset: Int64,
        count: Int,
        _ exchange: DownloadExchange,
        _ now: Int64
    ) -> ReadDecision {
        if skip > 0, let receiver = self.comparingReceiver {
            var failure = TransferFailure(.cannotResume, "the file changed on the server while it was being read")
            var agree = false
            do throws(TransferFailure) { agree = try receiver.holds(body.part(0..<skip), at: offset) } catch {
                failure = error
            }
            if !agree {
                self.handle { [failure] in $0.failed(failure) }
                return .close
            }
        }
        if skip == body.count { return .read }
        let rest = body.part(skip..<body.count)
        // The bytes that follow the repeated ones may have to be compared first.
        if count == 0, skip > 0 { return self.received(rest, on: exchange) }
        let new = rest.part(0..<count)
        switch self.shared.options.destination {
        case .stream(let sink): return self.write(new, of: rest.count, to: sink, exchange, now)
        case .memory(let receiver): return self.hand(new, of: rest.count, to: receiver, exchange, now)
        case .file: return .close
        }
    }

    /// Passes bytes to a receiver that accepts them synchronously.
    private func hand(
        _ bytes: UnsafeRawBufferPointer,
        of arrived: Int,
        to receiver: any BodyReceiver,
        _ exchange: DownloadExchange,
        _ now: Int64
    ) -> ReadDecision {
        let mayContinue: Bool
        do throws(TransferFailure) {
            mayContinue = try receiver.receive(bytes) { self.resume(exchange) }
        } catch {
            self.handle { $0.failed(error) }
            return .close
        }
        self.advanceStream(bytes, exchange)
        self.handle { $0.wrote(bytes.count, of: arrived, exchange.number, now) }
        if exchange.isClosed { return .close }
        if !mayContinue {
            self.state.withLock { $0.machine.paused(exchange.number) }
            return .pause
        }
        return self.host.isThrottling ? self.throttle(exchange, bytes.count, now) : .read
    }

    /// Writes bytes to the sink: as many as it takes at once here, the others on the pool; reading is paused until then.
    private func write(
        _ bytes: UnsafeRawBufferPointer,
        of arrived: Int,
        to sink: any ByteSink,
        _ exchange: DownloadExchange,
        _ now: Int64
    ) -> ReadDecision {
        let count = bytes.count
        let written: Int
        do throws(StorageError) {
            // Bytes of an earlier request may be waiting: these follow them.
            written = self.isLineBusy ? 0 : try sink.writeAvailable(bytes)
        } catch {
            self.handle { $0.failed(TransferFailure(error)) }
            return .close
        }
        if written > 0 { self.advanceStream(bytes.part(0..<written), exchange) }
        if written == count {
            self.handle { $0.wrote(count, of: arrived, exchange.number, now) }
            if exchange.isClosed { return .close }
            return self.host.isThrottling ? self.throttle(exchange, count, now) : .read
        }
        let rest = Array(bytes.part(written..<count))
        self.state.withLock { $0.machine.paused(exchange.number) }
        self.line.run {
            do throws(StorageError) {
                try sink.write(rest)
            } catch {
                return self.handle { $0.failed(TransferFailure(error)) }
            }
            rest.withUnsafeBytes { self.advanceStream($0, exchange) }
            self.handle { $0.wrote(count, of: arrived, exchange.number, self.now) }
            let now = self.now
            if self.host.isThrottling, case .pause = self.throttle(exchange, count, now) { return }
            self.resume(exchange)
        }
        return self.reading(exchange)
    }

    private func advanceStream(_ bytes: UnsafeRawBufferPointer, _ exchange: DownloadExchange) {
        // A receiver that keeps the bytes compares them itself.
        let isKept =
            if case .memory(let receiver) = self.shared.options.destination { receiver.keepsBytes } else { false }
        let digests = self.transfer.memory.withLock { memory in
            if !isKept { memory.streamTail.append(bytes) }
            return memory.streamDigests
        }
        digests?.update(bytes)
        exchange.digests?.update(bytes)
    }

    // MARK: Pausing

    /// Resumes reading after a pause.
    private func resume(_ exchange: DownloadExchange) {
        self.transport.execute(onLane: exchange.lane) { self.endPause(exchange) }
    }

    /// Resumes reading; on the event loop.
    func endPause(_ exchange: DownloadExchange) {
        let now = self.now
        if self.state.withLock({ $0.machine.resumed(exchange.number, now) }) { exchange.applyReading() }
    }

    /// Charges bytes to the rate limits; pauses reading until they may pass.
    private func throttle(_ exchange: DownloadExchange, _ count: Int, _ now: Int64) -> ReadDecision {
        let tickets = self.host.charge(count, to: self.transfer, now: now)
        let wait = self.host.wait(for: tickets, of: self.transfer, now: now)
        guard wait > 0 else { return .read }
        self.state.withLock { $0.machine.paused(exchange.number) }
        self.hold(exchange, tickets, wait)
        return .pause
    }

    private func hold(_ exchange: DownloadExchange, _ tickets: RateTickets, _ wait: Int64) {
        // The limit can change during a wait: long waits are split, and the remaining wait is recomputed.
        self.time.schedule(after: min(wait, Self.longestHold)) {
            guard self.state.withLock({ $0.machine.contains(exchange.number) }) else { return }
            let left = self.host.wait(for: tickets, of: self.transfer, now: self.now)
            if left > 0 { self.hold(exchange, tickets, left) } else { self.resume(exchange) }
        }
    }

    private static let longestHold: Int64 = 500_000_000
}

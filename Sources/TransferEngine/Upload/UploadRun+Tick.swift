internal import Synchronization
internal import TransferCore

/// What happens with time: timeouts, progress, a look at the files.
extension UploadRun {
    func tick(_ now: Int64) {
        let total = self.options.totalTimeout.inNanoseconds
        if total > 0, self.earlier.activeTime + now - self.startedAt > total {
            let failure = TransferFailure(
                .timeout,
                "not finished within \(DurationFormat.compact(self.options.totalTimeout))",
                setting: .resourceTimeout
            )
            return self.end(.failed(failure), except: nil)
        }
        self.reportProgress(now)
        // A file that was cut off would leave the kernel nothing to send.
        do throws(TransferFailure) {
            try self.state.withLock { $0.parts }?.check()
        } catch {
            return self.end(.failed(error), except: nil)
        }
        self.endStalled(now)
    }

    private static let questionPatience: Int64 = 10_000_000_000

    private func endStalled(_ now: Int64) {
        var stall = self.options.stallTimeout.inNanoseconds
        // Servers that say nothing to a question that they need not know are not waited for as long.
        if stall > 0, self.state.withLock({ $0.attempt?.step == TusMachine.question }) {
            stall = min(stall, Self.questionPatience)
        }
        let patience = stall
        let stalled: (UploadAttempt, String)? = self.state.withLock { state in
            guard patience > 0, let attempt = state.attempt, attempt.isConnected, !attempt.isHeld,
                !attempt.isSourceHeld, now - attempt.lastActivity > patience
            else { return nil }
            if attempt.head != nil { return (attempt, "nothing arrived") }
            return (attempt, attempt.stretch.map { !$0.isWhole } ?? false ? "nothing could be sent" : "no answer came")
        }
        guard let (attempt, what) = stalled else { return }
        let failure = TransferFailure(
            .timeout,
            "\(what) for \(DurationFormat.compact(.nanoseconds(patience)))",
            isRetryable: true
        )
        self.engine.transport.execute(onLane: attempt.lane) {
            guard self.state.withLock({ _ in !attempt.isOver }) else { return }
            let exchange = self.state.withLock { _ in
                defer { attempt.exchange = nil }
                return attempt.exchange
            }
            exchange?.cancel()
            self.attemptFailed(attempt, failure)
        }
    }

    private func reportProgress(_ now: Int64) {
        let before = self.earlier.sent
        let isNews: Bool = self.state.withLock { state in
            guard state.phase == .active, state.attempt != nil else { return false }
            let (bytes, total) = state.position
            state.window.record(bytes, at: now)
            guard bytes != state.reported, self.engine.hub.wants(.progress) else { return false }
            state.reported = bytes
            let rate = state.window.rate
            var progress = TransferEvent.Progress(
                bytes: bytes,
                total: total,
                rate: rate,
                secondsLeft: total.flatMap { rate > 0 ? Double($0 - bytes) / rate : nil },
                connections: 1
            )
            progress.sent = before + state.sent
            progress.acknowledged = state.machine.acknowledged
            self.engine.hub.post(self.transfer.event(.progress(progress)))
            return true
        }
        if isNews { self.engine.hub.deliver() }
    }
}

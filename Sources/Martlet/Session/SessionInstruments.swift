// SPDX-License-Identifier: Apache-2.0
internal import CoreMetrics
internal import Logging
internal import TransferEngine

/// A session's log messages and metrics.
final class SessionInstruments: Sendable {
    private let logger: Logger?
    private let finished: Counter?
    private let failed: Counter?
    private let cancelled: Counter?
    private let received: Counter?
    private let attemptsFailed: Counter?

    init(_ configuration: SessionConfiguration) {
        self.logger = configuration.logger
        guard let factory = configuration.metrics else {
            self.finished = nil
            self.failed = nil
            self.cancelled = nil
            self.received = nil
            self.attemptsFailed = nil
            return
        }
        func tasks(_ outcome: String) -> Counter {
            Counter(label: "martlet.tasks", dimensions: [("outcome", outcome)], factory: factory)
        }
        self.finished = tasks("finished")
        self.failed = tasks("failed")
        self.cancelled = tasks("cancelled")
        self.received = Counter(label: "martlet.bytes.received", factory: factory)
        self.attemptsFailed = Counter(label: "martlet.attempts.failed", factory: factory)
    }

    /// The events that it needs in addition to ends.
    var interest: TransferEvent.Interest {
        self.logger != nil || self.attemptsFailed != nil ? [.states, .notes] : .ends
    }

    func note(_ event: TransferEvent) {
        guard self.logger != nil || self.attemptsFailed != nil else { return }
        switch event.kind {
        case .finished(let completion):
            self.finished?.increment()
            self.received?.increment(by: completion.received)
            self.log(.debug, "finished", event, ["bytes": "\(completion.bytes)"])
        case .failed(let failure):
            self.failed?.increment()
            self.log(.error, "failed", event, ["error": "\(failure.message)"])
        case .cancelled:
            self.cancelled?.increment()
            self.log(.debug, "cancelled", event)
        case .retrying(let failure, let attempt, let delay):
            self.attemptsFailed?.increment()
            self.log(
                .warning,
                "an attempt failed and will be repeated",
                event,
                ["error": "\(failure.message)", "attempt": "\(attempt)", "delay": "\(delay)"]
            )
        case .started: self.log(.trace, "started", event)
        case .paused: self.log(.trace, "suspended", event)
        case .note(let text): self.log(.debug, "\(text)", event)
        case .warning(let text): self.log(.warning, "\(text)", event)
        case .response, .progress, .held, .released, .drained, .missed: break
        }
    }

    private func log(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ event: TransferEvent,
        _ more: Logger.Metadata = [:]
    ) {
        guard let logger = self.logger, logger.logLevel <= level, let id = event.id else { return }
        var metadata = more
        metadata["transfer"] = "\(id)"
        metadata["url"] = "\(event.url)"
        if let description = (event.userInfo as? TaskBox)?.task?.description, !description.isEmpty {
            metadata["task"] = "\(description)"
        }
        logger.log(level: level, message, metadata: metadata)
    }
}

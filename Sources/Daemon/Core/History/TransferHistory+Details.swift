// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore
internal import TransferEngine

/// The attempts, times and log in the recorded events.
extension TransferHistory {
    /// Returns the attempts, the last response and the log of a transfer.
    ///
    /// - Parameters:
    ///   - id: The transfer.
    ///   - since: When it was added: earlier events are of another transfer that had the same identifier.
    /// - Returns: The details, or `nil` if none are kept.
    func details(of id: GID, since: Double) -> TransferDetails? {
        guard let kept = self.entries(of: id) else { return nil }
        let entries = kept.entries.filter { $0.at >= since }
        guard !entries.isEmpty else { return nil }
        var details = TransferDetails(started: kept.started.flatMap { $0 >= since ? $0 : nil })
        for entry in entries {
            details.log.append(TransferDetails.Line(at: entry.at, text: entry.event.text.line))
            Self.apply(entry, to: &details)
        }
        return details
    }

    /// The last attempts of a transfer that failed, for its row: few and short, because a queue may have many.
    func attemptsToStore(of id: GID, since: Double) -> [TransferDetails.Attempt] {
        (self.details(of: id, since: since)?.attempts ?? []).suffix(Self.storedAttempts)
            .map { attempt in
                var attempt = attempt
                attempt.url = String(attempt.url.prefix(Self.storedText))
                // The last one's is the failure's.
                attempt.message = attempt.outcome == "failed" ? "" : String(attempt.message.prefix(Self.storedText))
                return attempt
            }
    }

    private static let storedAttempts = 4
    private static let storedText = 200

    private static func apply(_ entry: Entry, to details: inout TransferDetails) {
        let last = details.attempts.count - 1
        let isRunning = last >= 0 && details.attempts[last].ended == nil
        switch entry.event {
        case .note: break
        case .started(let url): details.attempts.append(TransferDetails.Attempt(started: entry.at, url: url))
        case .response(let status, _, let resumedFrom, let fields):
            details.response = TransferDetails.Response(
                at: entry.at,
                status: status,
                fields: fields.map { name, value in
                    TransferDetails.Field(name: name, value: EventText.isSecret(field: name) ? nil : value)
                }
            )
            guard isRunning else { return }
            details.attempts[last].status = details.attempts[last].status ?? status
            details.attempts[last].resumedFrom = details.attempts[last].resumedFrom ?? resumedFrom
        case .retrying(let message, _, let delay, let bytes):
            guard isRunning else { return }
            details.attempts[last].message = message
            details.attempts[last].nextTry = entry.at + delay / .seconds(1)
            details.attempts[last].end("retrying", bytes, at: entry.at)
        case .finished(let bytes, _, _):
            guard isRunning else { return }
            details.attempts[last].end(entry.event.text.word, bytes, at: entry.at)
        case .ended(let text, let bytes):
            guard isRunning else { return }
            if text.word == "failed" { details.attempts[last].message = text.text }
            details.attempts[last].end(text.word, bytes, at: entry.at)
        }
    }
}

extension TransferHistory.Event {
    /// The words.
    var text: EventText {
        switch self {
        case .started(let url): .started(from: url)
        case .response(let status, let expected, let resumedFrom, _):
            .response(status: status, expected: expected, resumedFrom: resumedFrom)
        case .retrying(let message, let attempt, let delay, _): .retrying(message, attempt: attempt, delay: delay)
        case .note(let text): .note(text)
        case .finished(let bytes, let duration, let isSkipped):
            .finished(bytes: bytes, duration: duration, isSkipped: isSkipped)
        case .ended(let text, _): text
        }
    }
}

extension TransferDetails.Attempt {
    fileprivate mutating func end(_ outcome: String, _ bytes: Int64, at: Double) {
        self.outcome = outcome
        self.bytes = bytes
        self.ended = at
    }
}

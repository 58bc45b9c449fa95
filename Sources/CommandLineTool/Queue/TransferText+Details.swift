// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import TransferCore

/// The attempts, the last response and the log of a transfer.
extension TransferText {
    /// The names and values of the lines; texts are as received.
    static func details(of record: TransferRecord) -> [(String, String)] {
        guard let details = record.details else { return [] }
        var lines: [(String, String)] = []
        if let started = details.started { lines.append(("started", self.moment(started))) }
        for (index, attempt) in details.attempts.enumerated() {
            lines.append(("attempt \(index + 1)", self.attempt(attempt)))
        }
        if let response = details.response {
            lines.append(("response", "status \(response.status), \(self.moment(response.at))"))
            for field in response.fields { lines.append(("header", "\(field.name): \(field.value ?? "(not shown)")")) }
        }
        for line in details.log { lines.append(("log", "\(self.moment(line.at)) \(line.text)")) }
        return lines
    }

    private static func attempt(_ attempt: TransferDetails.Attempt) -> String {
        var parts = [self.moment(attempt.started)]
        if let ended = attempt.ended, ended - attempt.started < 1e9 {
            parts.append(Quantity.elapsed(.milliseconds(Int64(max(0, ended - attempt.started) * 1000))))
        }
        if let status = attempt.status { parts.append("status \(status)") }
        if let first = attempt.resumedFrom, first > 0 { parts.append("from \(Quantity.bytes(first))") }
        if let bytes = attempt.bytes { parts.append(Quantity.bytes(bytes)) }
        parts.append(attempt.outcome ?? "running")
        if !attempt.message.isEmpty { parts.append(attempt.message) }
        if let next = attempt.nextTry { parts.append("next at \(self.moment(next).suffix(8))") }
        return ([attempt.url] + parts).joined(separator: ", ")
    }
}

// SPDX-License-Identifier: Apache-2.0
import Control
import Datasets
import TransferCore
import TransferEngine

/// Formats the lines of `--json`: one object per event, as documented in Docs/json-events.md.
enum JSONEvents {
    /// The line of an event, or `nil` if the event is not reported.
    static func line(_ report: EventMailbox.Report, algorithm: DigestAlgorithm? = nil) -> String? {
        let event = report.event
        switch event.kind {
        case .started: return self.text(self.object("started", report))
        case .response(let response):
            var object = self.object("response", report)
            object.add("status", Int64(response.status))
            object.add("bytes", response.resumedFrom)
            object.add("total", response.expected)
            return self.text(object)
        case .progress(let progress):
            var object = self.object("progress", report)
            object.add("bytes", progress.bytes)
            object.add("total", progress.total)
            object.add("rate", progress.rate)
            if let left = progress.secondsLeft { object.add("left", left) } else { object.add("left", .null) }
            object.add("connections", Int64(progress.connections))
            if let sent = progress.sent {
                object.add("sent", sent)
                object.add("acknowledged", progress.acknowledged)
            }
            return self.text(object)
        case .retrying(let failure, let attempt, let delay):
            var object = self.object("retrying", report)
            object.add("attempt", Int64(attempt))
            object.add("delay", Quantity.seconds(delay))
            object.add("error", .object(self.error(failure)))
            return self.text(object)
        case .paused: return self.text(self.object("paused", report))
        case .finished(let completion): return self.finished(completion, report, algorithm)
        case .failed(let failure):
            var object = self.object("failed", report)
            if let line = report.line { object.add("line", Int64(line)) }
            object.add("error", .object(self.error(failure)))
            return self.text(object)
        case .cancelled: return self.text(self.object("cancelled", report))
        case .note(let text):
            var object = self.object("note", report)
            object.add("message", text)
            return self.text(object)
        case .warning(let text):
            var object = self.object("warning", report)
            object.add("message", text)
            return self.text(object)
        case .missed(let count):
            var object = [JSON.Member("event", .string("missed"))]
            object.add("count", Int64(count))
            return self.text(object)
        case .held(let hold): return self.hold("held", hold)
        case .released(let hold): return self.hold("released", hold)
        case .drained: return nil
        }
    }

    private static func hold(_ event: String, _ hold: HostHold) -> String {
        var object = [JSON.Member("event", .string(event))]
        if let origin = hold.origin {
            object.add("origin", "\(origin.scheme.name)://\(hold.place)")
        } else {
            object.add("origin", .null)
        }
        if let directory = hold.directory { object.add("directory", directory) }
        object.add("reason", hold.reason.rawValue)
        object.add("cause", hold.code.rawValue)
        object.add("message", hold.message)
        object.add("since", hold.since)
        object.add("nextTry", hold.nextTry)
        return self.text(object)
    }

    /// The last line of a run.
    static func end(_ summary: Summary, status: Int32) -> String {
        var object = [JSON.Member("event", .string("end"))]
        object.add("finished", Int64(summary.finished))
        object.add("skipped", Int64(summary.skipped))
        object.add("unchanged", Int64(summary.unchanged))
        object.add("failed", Int64(summary.failed))
        object.add("unfinished", Int64(summary.unfinished))
        object.add("bytes", summary.received)
        object.add("seconds", Quantity.seconds(summary.elapsed))
        object.add("rate", summary.rate)
        object.add("status", Int64(status))
        return self.text(object)
    }

    /// The counts of the rows of a table.
    static func counts(_ counts: RowCounts) -> String {
        let summary = counts.summary
        var object = [JSON.Member("event", .string("counts"))]
        object.add("rows", summary.rows)
        object.add("done", summary.done)
        object.add("stored", summary.stored)
        object.add("failed", .object(summary.reasons.map { JSON.Member($0.code, .integer($0.count)) }))
        object.add("reportedBefore", summary.reportedBefore)
        object.add("failedBefore", summary.failedBefore)
        object.add("bytes", counts.received)
        object.add("rate", counts.rate)
        object.add("rowRate", counts.rowRate)
        object.add("complete", counts.isComplete)
        return self.text(object)
    }

    private static func finished(
        _ completion: TransferEvent.Completion,
        _ report: EventMailbox.Report,
        _ algorithm: DigestAlgorithm?
    ) -> String {
        var object = self.object("finished", report)
        object.add("bytes", completion.bytes)
        object.add("total", completion.bytes)
        object.add("received", completion.received)
        let seconds = Quantity.seconds(completion.duration)
        object.add("seconds", seconds)
        object.add("rate", seconds > 0 ? Double(completion.sent ?? completion.received) / seconds : 0)
        if let sent = completion.sent {
            object.add("sent", sent)
            object.add("status", completion.status.map(Int64.init))
            if let link = completion.link { object.add("link", link) }
        }
        object.add("skipped", completion.skipped)
        if completion.skipped { object.add("unchanged", completion.unchanged) }
        object.add("verified", completion.verified)
        if let consistency = completion.consistency { object.add("consistency", consistency.rawValue) }
        if let digest = completion.digest, let algorithm {
            object.add("digest", algorithm.rawValue + ":" + Hexadecimal.encode(digest))
        }
        return self.text(object)
    }

    private static func object(_ event: String, _ report: EventMailbox.Report) -> [JSON.Member] {
        var object = [JSON.Member("event", .string(event))]
        if let id = report.event.id { object.add("id", Int64(clamping: id.rawValue)) } else { object.add("id", .null) }
        object.add("url", report.event.url)
        object.add("path", report.path)
        return object
    }

    private static func error(_ failure: TransferFailure) -> [JSON.Member] {
        var object: [JSON.Member] = []
        object.add("code", Int64(Aria2ExitStatus(failure.code).number))
        object.add("reason", failure.code.rawValue)
        object.add("message", failure.message)
        object.add("remedy", failure.remedyForCommand)
        object.add("retryable", failure.isRetryable)
        if let status = failure.status { object.add("status", Int64(status)) }
        return object
    }

    private static func text(_ object: [JSON.Member]) -> String { JSON.object(object).text }
}

extension [JSON.Member] {
    fileprivate mutating func add(_ name: String, _ value: JSON) { self.append(JSON.Member(name, value)) }

    fileprivate mutating func add(_ name: String, _ value: String) { self.add(name, .string(value)) }

    fileprivate mutating func add(_ name: String, _ value: Int64) { self.add(name, .integer(value)) }

    fileprivate mutating func add(_ name: String, _ value: Int64?) { self.add(name, .optional(value)) }

    fileprivate mutating func add(_ name: String, _ value: Bool) { self.add(name, .bool(value)) }

    fileprivate mutating func add(_ name: String, _ value: Double) { self.add(name, .decimal(value)) }
}

extension JSON {
    /// A number with at most three decimals; infinities, NaN and magnitudes from 1e15 become null.
    static func decimal(_ value: Double) -> JSON {
        guard value.isFinite, value.magnitude < 1e15 else { return .null }
        let rounded = (value * 1000).rounded() / 1000
        return Int64(exactly: rounded).map { .integer($0) } ?? .number(rounded)
    }
}

import Control
import TransferCore
import TransferEngine

/// Formats the lines of `--json`: one object per event, as documented in Docs/json-events.md.
enum JSONEvents {
    /// The line of an event, or `nil` if the event is not reported.
    static func line(_ report: EventMailbox.Report, algorithm: DigestAlgorithm? = nil) -> String? {
        let event = report.event
        switch event.kind {
        case .started: return self.object("started", report).text
        case .response(let response):
            var object = self.object("response", report)
            object.add("status", Int64(response.status))
            object.add("bytes", response.resumedFrom)
            self.add("total", response.expected, to: &object)
            return object.text
        case .progress(let progress):
            var object = self.object("progress", report)
            object.add("bytes", progress.bytes)
            self.add("total", progress.total, to: &object)
            object.add("rate", progress.rate)
            if let left = progress.secondsLeft { object.add("left", left) } else { object.addNull("left") }
            object.add("connections", Int64(progress.connections))
            if let sent = progress.sent {
                object.add("sent", sent)
                self.add("acknowledged", progress.acknowledged, to: &object)
            }
            return object.text
        case .retrying(let failure, let attempt, let delay):
            var object = self.object("retrying", report)
            object.add("attempt", Int64(attempt))
            object.add("delay", Quantity.seconds(delay))
            object.add("error", self.error(failure))
            return object.text
        case .paused: return self.object("paused", report).text
        case .finished(let completion): return self.finished(completion, report, algorithm)
        case .failed(let failure):
            var object = self.object("failed", report)
            if let line = report.line { object.add("line", Int64(line)) }
            object.add("error", self.error(failure))
            return object.text
        case .cancelled: return self.object("cancelled", report).text
        case .note(let text):
            var object = self.object("note", report)
            object.add("message", text)
            return object.text
        case .missed(let count):
            var object = JSONObject()
            object.add("event", "missed")
            object.add("count", Int64(count))
            return object.text
        case .held(let hold): return self.hold("held", hold)
        case .released(let hold): return self.hold("released", hold)
        case .drained: return nil
        }
    }

    private static func hold(_ event: String, _ hold: HostHold) -> String {
        var object = JSONObject()
        object.add("event", event)
        if let origin = hold.origin {
            object.add("origin", "\(origin.scheme.name)://\(hold.place)")
        } else {
            object.addNull("origin")
        }
        object.add("reason", hold.reason.rawValue)
        object.add("cause", hold.code.rawValue)
        object.add("message", hold.message)
        object.add("since", hold.since)
        self.add("nextTry", hold.nextTry, to: &object)
        return object.text
    }

    /// The last line of a run.
    static func end(_ summary: Summary, status: Int32) -> String {
        var object = JSONObject()
        object.add("event", "end")
        object.add("finished", Int64(summary.finished))
        object.add("skipped", Int64(summary.skipped))
        object.add("failed", Int64(summary.failed))
        object.add("unfinished", Int64(summary.unfinished))
        object.add("bytes", summary.received)
        object.add("seconds", Quantity.seconds(summary.elapsed))
        object.add("rate", summary.rate)
        object.add("status", Int64(status))
        return object.text
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
            self.add("status", completion.status.map(Int64.init), to: &object)
        }
        object.add("skipped", completion.skipped)
        object.add("verified", completion.verified)
        if let consistency = completion.consistency { object.add("consistency", consistency.rawValue) }
        if let digest = completion.digest, let algorithm {
            object.add("digest", algorithm.rawValue + ":" + Hexadecimal.encode(digest))
        }
        return object.text
    }

    private static func object(_ event: String, _ report: EventMailbox.Report) -> JSONObject {
        var object = JSONObject()
        object.add("event", event)
        if let id = report.event.id { object.add("id", Int64(clamping: id.rawValue)) } else { object.addNull("id") }
        object.add("url", report.event.url)
        object.add("path", report.path)
        return object
    }

    private static func error(_ failure: TransferFailure) -> JSONObject {
        var object = JSONObject()
        object.add("code", Int64(Aria2ExitStatus(failure.code).number))
        object.add("reason", failure.code.rawValue)
        object.add("message", failure.message)
        object.add("remedy", failure.remedyForCommand)
        object.add("retryable", failure.isRetryable)
        if let status = failure.status { object.add("status", Int64(status)) }
        return object
    }

    private static func add(_ key: StaticString, _ value: Int64?, to object: inout JSONObject) {
        if let value { object.add(key, value) } else { object.addNull(key) }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferEngine

/// Formats events as lines for people.
struct ReportText {
    /// Whether details are printed.
    var verbose = false
    /// Whether only failures are printed.
    var quiet = false
    /// Whether the first word is coloured.
    var colour = false
    var algorithm: DigestAlgorithm?
    /// Whether text is reduced to ASCII.
    var asciiOnly = false
    /// Whether files are only asked about.
    var onlyExamines = false
    /// The time for which outages are waited out, or `nil` if they are not.
    var outageTimeout: Duration?

    /// The line of an event, or `nil` if it is not printed.
    func line(_ report: EventMailbox.Report) -> String? {
        let name = report.name
        switch report.event.kind {
        case .response(let response) where self.onlyExamines && !self.verbose:
            return self.quiet || response.status >= 300 ? nil : self.examined(response, report.event.url)
        case .finished(let completion):
            return self.quiet || self.onlyExamines ? nil : self.finished(completion, name)
        case .failed(let failure): return self.word("failed", 31) + ": \(name): \(self.clean(failure.textForCommand))"
        case .cancelled: return self.quiet ? nil : "cancelled: \(name)"
        case .held(let hold): return self.quiet ? nil : self.word("waiting", 33) + ": " + self.held(hold)
        case .released(let hold): return self.quiet ? nil : self.released(hold)
        case .note(let text) where report.event.id == nil: return self.quiet ? nil : "warning: " + self.clean(text)
        case .warning(let text): return self.quiet ? nil : "warning: " + self.clean(text)
        default: return self.verbose ? self.detail(report) : nil
        }
    }

    private func held(_ hold: HostHold) -> String {
        var line: String
        switch hold.reason {
        case .unreachable, .network:
            line = "\(hold.placeInSentence) unreachable since \(hold.sinceText) (\(hold.cause))"
        case .errors:
            line = "\(hold.placeInSentence) out of order since \(hold.sinceText) (\(self.clean(hold.message)))"
        case .fileSystem:
            line = "\(hold.placeInSentence) is \(hold.cause) since \(hold.sinceText) (\(self.clean(hold.message)))"
        case .throttled: line = "\(hold.placeInSentence) requested a retry later (\(self.clean(hold.message)))"
        }
        if let next = hold.nextTry { line += ", next try in \(max(1, next - self.now())) s" }
        if hold.reason != .throttled, let allowed = self.outageTimeout {
            line += "; waits up to \(DurationFormat.compact(allowed)) (--outage-timeout)"
        }
        return line
    }

    private func released(_ hold: HostHold) -> String? {
        switch hold.reason {
        case .unreachable, .network: self.word("back", 32) + ": \(hold.place) is reachable again"
        case .errors: self.word("back", 32) + ": \(hold.place) responds again"
        case .fileSystem: self.word("back", 32) + ": \(hold.place) takes files again"
        case .throttled: nil
        }
    }

    /// The server's description of a file.
    private func examined(_ response: TransferEvent.ResponseInfo, _ url: String) -> String {
        let size = response.expected.map { Quantity.bytes($0) } ?? "size not declared"
        let fields = ["content-type", "last-modified"]
            .compactMap { name in response.fields.first { $0.name.lowercased() == name }?.value }
        return self.word("there", 32)
            + ": \(self.clean(url)) (\(self.clean(([size] + fields).joined(separator: ", "))))"
    }

    private func finished(_ completion: TransferEvent.Completion, _ name: String) -> String {
        if completion.unchanged {
            return self.word("unchanged", 32) + ": \(name) (\(Quantity.bytes(completion.bytes)))"
        }
        if completion.skipped {
            return self.word("skipped", 33) + ": \(name) (already there, \(Quantity.bytes(completion.bytes)))"
        }
        let seconds = Quantity.seconds(completion.duration)
        let moved = completion.sent ?? completion.received
        let rate = seconds > 0 ? Double(moved) / seconds : 0
        var line = self.word("done", 32) + ": \(name) (\(Quantity.bytes(completion.bytes))"
        // The time and the rate are those of this run.
        if moved < completion.bytes { line += ", \(Quantity.bytes(moved)) of it" }
        line += " in \(Quantity.elapsed(completion.duration)), \(Quantity.rate(rate)))"
        if let status = completion.status { line += ", status \(status)" }
        if !completion.verifiedLength { line += ", the server did not declare the length" }
        // A heuristic, and reported as such.
        if completion.consistency == .overlap { line += ", continued after comparing an overlap" }
        if let digest = completion.digest, let algorithm = self.algorithm {
            line += " \(algorithm.rawValue):\(Hexadecimal.encode(digest))"
        }
        if let link = completion.link { line += "\nlink: \(self.clean(link))" }
        return line
    }

    private func detail(_ report: EventMailbox.Report) -> String? {
        let name = report.name
        switch report.event.kind {
        case .started: return "started: \(name) " + self.clean(EventText.started(from: report.event.url).text)
        case .response(let response):
            let text = EventText.response(
                status: response.status,
                expected: response.expected,
                resumedFrom: response.resumedFrom
            )
            var line = self.named(text, name)
            for field in response.fields where !EventText.isSecret(field: field.name) {
                line += "\n  \(self.clean(field.name)): \(self.clean(String(field.value.prefix(200))))"
            }
            return line
        case .retrying(let failure, let attempt, let delay):
            return self.named(.retrying(failure.message, attempt: attempt, delay: delay), name)
        case .paused: return self.named(.paused, name)
        case .note(let text): return self.named(.note(text), name)
        case .missed(let count): return "note: \(count) details were left out"
        default: return nil
        }
    }

    /// Returns the current time, in seconds since 1970.
    var now: @Sendable () -> Int64 = { Int64(time(nil)) }

    /// The line of an event of a file; of the run, if the name is empty.
    private func named(_ event: EventText, _ name: String) -> String {
        [event.word, name, self.clean(event.text)].filter { !$0.isEmpty }.joined(separator: ": ")
    }

    private func clean(_ text: String) -> String { DisplayText.clean(text, asciiOnly: self.asciiOnly) }

    private func word(_ word: String, _ code: Int) -> String {
        self.colour ? "\u{1B}[\(code)m\(word)\u{1B}[0m" : word
    }
}

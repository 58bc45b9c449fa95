// SPDX-License-Identifier: Apache-2.0
import Control

/// The judgement of one step of the demo: what was observed, and whether it is as expected.
struct DemoVerdict: Sendable, Equatable {
    /// The observations, as lines for people.
    var lines: [String]
    /// The claim that the step shows.
    var claim: String
    /// The first unexpected observation; `nil` if the step held.
    var failure: Mismatch?

    /// An observation that differs from what was expected.
    struct Mismatch: Sendable, Equatable {
        /// The expected observation.
        var expected: String
        /// The actual observation.
        var seen: String
    }
}

/// The texts that several judgements use.
enum DemoText {
    /// The number of digits of a digest that are shown.
    private static let digits = 16

    /// The first digits of a digest; `none` without one.
    static func digest(_ digest: String?) -> String { digest.map { String($0.prefix(self.digits)) } ?? "none" }

    /// Why less is kept than otherwise; see Docs/Limitations.md.
    static let unknownBoot = "without /proc the boot is unknown: only bytes synced to the disk are kept"

    /// The line of a command's output that explains its failure: the last message, or else the last line.
    static func reason(in output: String) -> String? {
        let lines = output.split(separator: "\n").map(String.init)
        let messages = ["failed: ", "martlet: ", "Error: "]
        return lines.last { line in messages.contains { line.hasPrefix($0) } } ?? lines.last
    }

    /// Breaks a line at spaces, so that each part is shorter than a terminal's width.
    ///
    /// The parts after the first one are indented by two more columns. A longer word stays in one piece.
    static func wrapped(_ line: String, columns: Int) -> [String] {
        let indentation = String(line.prefix { $0 == " " })
        var parts: [String] = []
        var rest = line[...]
        while rest.count >= columns {
            let start = rest.firstIndex { $0 != " " } ?? rest.endIndex
            let words = rest[start...]
            let room = max(0, columns - rest.distance(from: rest.startIndex, to: start))
            guard let space = words.prefix(room).lastIndex(of: " ") ?? words.firstIndex(of: " ") else { break }
            parts.append(String(rest[..<space]))
            rest = (indentation + "  " + words[space...].drop { $0 == " " })[...]
        }
        return parts + [String(rest)]
    }

    /// How a process ended.
    static func end(_ end: ChildProcess.End) -> String {
        switch end {
        case .exited(let status): "exit status \(status)"
        case .signalled(let number): "signal \(number)"
        }
    }

    /// The message for a process that ended unexpectedly.
    ///
    /// - Parameters:
    ///   - name: The command.
    ///   - end: How it ended.
    ///   - reason: Its last message; a process that a signal ended has none.
    ///   - isProcMounted: Whether the system has /proc.
    /// - Returns: The message.
    static func ended(_ name: String, _ end: ChildProcess.End, reason: String?, isProcMounted: Bool) -> String {
        guard case .signalled(let number) = end else {
            return "\(name) ended with \(self.end(end))" + (reason.map { ": \($0)" } ?? "")
        }
        // SIGILL of libdispatch, which counts its threads in /proc.
        let hint = number == 4 && !isProcMounted ? "; without /proc the Swift runtime can do that: mount it" : ""
        return "\(name) was ended by signal \(number)\(hint)"
    }

    /// A quotient with two decimals; rounded up, so that no excess is hidden.
    static func ratio(_ count: Int64, to size: Int64) -> String {
        guard size > 0 else { return "-" }
        let hundredths = (count * 100 + size - 1) / size
        let rest = hundredths % 100
        return "\(hundredths / 100)." + (rest < 10 ? "0\(rest)" : "\(rest)")
    }
}

/// The observations of a download after a kill and a second run.
struct DemoResumption: Sendable, Equatable {
    /// The size of the file.
    var size: Int64
    /// The number of bytes in the partial file when the download was killed.
    var received: Int64
    /// How the second run ended.
    var end: ChildProcess.End
    /// The requests of the second run that the server logged.
    var requests: [DemoRequest]
    /// The SHA-256 of the file on the server.
    var served: String
    /// The SHA-256 of the downloaded file, or `nil` without one.
    var downloaded: String?
    /// Whether the system reports the current boot; if not, only synced bytes are kept.
    var isBootKnown = true

    /// The number of bytes that the server sent to the second run; `nil` if it did not log the size.
    ///
    /// The server does not know how much of a response arrived if the client closes the connection before the kernel
    /// reports the last acknowledgement.
    var sent: Int64? { DemoRequest.resumed(self.requests).bytes }

    /// The number of bytes that may be sent twice: those that were written, but not yet entered in the journal.
    static func allowance(_ size: Int64) -> Int64 { max(size / 50, 1 << 20) }

    /// Whether the size of the continued response is missing, which says nothing about the download.
    var isUnmeasured: Bool {
        self.isBootKnown && self.end == .exited(0) && DemoRequest.resumed(self.requests) == .unknown
    }

    /// The judgement: the second run kept what the first one had received, and the file is the server's.
    var verdict: DemoVerdict {
        var verdict = DemoVerdict(
            lines: [],
            claim: "the second run received only the missing bytes; the digests are equal"
        )
        guard self.end == .exited(0) else {
            verdict.failure = .init(expected: "exit status 0 of the second run", seen: DemoText.end(self.end))
            return verdict
        }
        if !self.isBootKnown {
            verdict.lines = [DemoText.unknownBoot, self.digests]
            verdict.claim = "the file is complete; the digests are equal"
            verdict.failure = self.differentDigest
            return verdict
        }
        guard let sent = self.sent else {
            let isRestart = DemoRequest.resumed(self.requests) == .none
            verdict.failure = .init(
                expected: "a response 206 to the second run, with its size in the server's log",
                seen: isRestart ? "no response 206" : "a response 206 without its size"
            )
            return verdict
        }
        let kept = self.size - sent
        verdict.lines = [
            "kept      \(Quantity.bytes(kept)) of the \(Quantity.bytes(self.received)) received before the kill",
            "sent      \(Quantity.bytes(sent)) after it; "
                + "both runs: \(DemoText.ratio(self.received + sent, to: self.size)) times the size",
            self.digests,
        ]
        if kept <= 0 {
            verdict.failure = .init(expected: "bytes kept from the first run", seen: "none kept")
        } else if self.received + sent > self.size + Self.allowance(self.size) {
            verdict.failure = .init(
                expected: "each byte sent once",
                seen: "\(self.received + sent) bytes for a file of \(self.size)"
            )
        } else {
            verdict.failure = self.differentDigest
        }
        return verdict
    }

    private var digests: String {
        "sha256    served \(DemoText.digest(self.served)), downloaded \(DemoText.digest(self.downloaded))"
    }

    private var differentDigest: DemoVerdict.Mismatch? {
        guard self.downloaded != self.served else { return nil }
        return .init(
            expected: "sha256 \(DemoText.digest(self.served))",
            seen: DemoText.digest(self.downloaded)
        )
    }
}

/// The observations of a download whose file was replaced on the server while a partial file existed.
struct DemoReplacement: Sendable, Equatable {
    /// The number of bytes of the first version in the partial file.
    var received: Int64
    /// How the second run ended.
    var end: ChildProcess.End
    /// The SHA-256 of the version that was served first.
    var first: String
    /// The SHA-256 of the version that replaced it.
    var second: String
    /// The SHA-256 of the downloaded file, or `nil` without one.
    var downloaded: String?

    /// The judgement: the file is the second version, without a byte of the first.
    var verdict: DemoVerdict {
        var verdict = DemoVerdict(
            lines: [
                "served first  \(DemoText.digest(self.first))",
                "served now    \(DemoText.digest(self.second))",
                "downloaded    \(DemoText.digest(self.downloaded))",
            ],
            claim: "the download restarted; it mixes nothing of the first version"
        )
        if self.end != .exited(0) {
            verdict.failure = .init(expected: "exit status 0 of the second run", seen: DemoText.end(self.end))
        } else if self.received <= 0 || self.first == self.second {
            verdict.failure = .init(
                expected: "a partial file of another version",
                seen: self.received <= 0 ? "no partial file" : "the same version twice"
            )
        } else if self.downloaded != self.second {
            verdict.failure = .init(
                expected: "the file that is served now, \(DemoText.digest(self.second))",
                seen: self.downloaded == self.first
                    ? "the first version" : "\(DemoText.digest(self.downloaded)), a mixture of both or another file"
            )
        }
        return verdict
    }
}

/// The observations of a list in a daemon after a kill and a second start.
struct DemoListing: Sendable, Equatable {
    /// One file of the list.
    struct Entry: Sendable, Equatable {
        var name: String
        var size: Int64
        /// The number of bytes in its partial file when the daemon was killed; 0 if it was complete or not started.
        var received: Int64
        /// The SHA-256 of the file on the server.
        var served: String
        /// The SHA-256 of the downloaded file, or `nil` without one.
        var downloaded: String?
    }

    /// The files.
    var entries: [Entry]
    /// How `martlet wait` ended.
    var end: ChildProcess.End
    /// The requests that the server logged after the daemon was started again.
    var requests: [DemoRequest]
    /// Whether the system reports the current boot; if not, only synced bytes are kept.
    var isBootKnown = true

    /// The judgement: all files are the server's, and each interrupted one was continued.
    var verdict: DemoVerdict {
        let interrupted = self.entries.filter { $0.received > 0 }
        let received = interrupted.reduce(0) { $0 + $1.received }
        let good = self.entries.filter { $0.downloaded == $0.served }
        var verdict = DemoVerdict(
            lines: ["\(good.count) of \(self.entries.count) files have the digests of those on the server"],
            claim: self.isBootKnown
                ? "the queue survived, and its files continued where they were"
                : "the queue survived, and its files are complete"
        )
        if !self.isBootKnown { verdict.lines.append(DemoText.unknownBoot) }
        let sizes = interrupted.map { entry in
            DemoRequest.resumed(self.requests.filter { $0.path == "/" + entry.name }).bytes.map { entry.size - $0 }
        }
        let known = sizes.compactMap { $0 }
        if self.isBootKnown, known.count == sizes.count {
            let kept = Quantity.bytes(known.reduce(0, +))
            verdict.lines.append("kept      \(kept) of the \(Quantity.bytes(received)) received before the kill")
        }
        if self.end != .exited(0) {
            verdict.failure = .init(expected: "exit status 0 of martlet wait", seen: DemoText.end(self.end))
        } else if interrupted.isEmpty {
            verdict.failure = .init(expected: "interrupted files", seen: "none")
        } else if let wrong = self.entries.first(where: { $0.downloaded != $0.served }) {
            verdict.failure = .init(
                expected: "\(wrong.name) with sha256 \(DemoText.digest(wrong.served))",
                seen: DemoText.digest(wrong.downloaded)
            )
        } else if self.isBootKnown, let restarted = interrupted.first(where: { self.isRestarted($0) }) {
            verdict.failure = .init(expected: "\(restarted.name) continued (status 206)", seen: "a restart")
        } else if self.isBootKnown, known.contains(where: { $0 <= 0 }) {
            verdict.failure = .init(expected: "bytes kept of each interrupted file", seen: "none kept of one")
        }
        return verdict
    }

    private func isRestarted(_ entry: Entry) -> Bool {
        DemoRequest.resumed(self.requests.filter { $0.path == "/" + entry.name }) == .none
    }
}

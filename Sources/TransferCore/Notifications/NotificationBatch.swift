// SPDX-License-Identifier: Apache-2.0
/// Combines the ends of a group's transfers into few notifications.
///
/// The first end is posted at once. Further ones replace that notification, at most once in an interval, with their
/// counts. After a quiet time the next end starts a new notification.
///
/// Pure value: times are arguments, in nanoseconds of a monotonic clock.
package struct NotificationBatch: Sendable {
    /// The end of one transfer.
    package struct Ending: Hashable, Sendable {
        /// The name of the file.
        package var name: String
        /// Whether it was sent.
        package var isUpload: Bool
        /// The number of bytes of a finished transfer.
        package var bytes: Int64
        /// The error's message, if the transfer failed.
        package var failure: String?

        /// Creates an end.
        package init(name: String, isUpload: Bool, bytes: Int64 = 0, failure: String? = nil) {
            self.name = name
            self.isUpload = isUpload
            self.bytes = bytes
            self.failure = failure
        }
    }

    /// The driver's next action.
    package enum Action: Hashable, Sendable {
        /// Posts a notification in place of another one (0 for none), and reports the result to ``posted(_:at:)``.
        case post(DesktopNotification, replacing: UInt32)
        /// Calls ``woke()`` at this time, and then ``next(at:)`` again.
        case wait(until: Int64)
    }

    /// The minimum time between two notifications of a group.
    package static let interval: Int64 = 5_000_000_000
    /// The time without ends after which a new notification is started.
    package static let quiet: Int64 = 30_000_000_000

    private struct Counts: Hashable, Sendable {
        var downloads = 0
        var uploads = 0
        var failures = 0
        var failedUploads = 0

        var all: Int { self.downloads + self.uploads + self.failures }
        var finished: Int { self.downloads + self.uploads }

        mutating func add(_ ending: Ending) {
            if ending.failure != nil {
                self.failures += 1
                if ending.isUpload { self.failedUploads += 1 }
            } else if ending.isUpload {
                self.uploads += 1
            } else {
                self.downloads += 1
            }
        }

        /// The word for a number of these transfers.
        func noun(_ count: Int) -> String {
            let sent = self.uploads + self.failedUploads
            let noun = sent == 0 ? "download" : sent == self.all ? "upload" : "transfer"
            return count == 1 ? noun : noun + "s"
        }
    }

    private let application: String
    /// The ends shown in the current notification.
    private var shown = Counts()
    private var last: Ending?
    private var lastFailure: Ending?
    /// All ends since all transfers were last done, shown or not.
    private var total = Counts()
    /// The ends of the time that is over, if that is to be shown.
    private var done: Counts?
    private var number: UInt32 = 0
    private var isChanged = false
    private var isPosting = false
    private var isWaiting = false
    private var lastPost: Int64?
    private var lastEnd: Int64?

    /// Creates the state of a group.
    ///
    /// - Parameter application: The name of the application in its notifications.
    package init(application: String) { self.application = application }

    /// Whether nothing is left to be done, so that the state may be discarded.
    package func isIdle(at now: Int64) -> Bool {
        !self.isChanged && !self.isPosting && !self.isWaiting && self.total == Counts() && self.isQuiet(at: now)
    }

    private func isQuiet(at now: Int64) -> Bool { self.lastEnd.map { now - $0 >= Self.quiet } ?? true }

    // MARK: Events

    /// Transfers ended.
    ///
    /// - Parameters:
    ///   - endings: Their ends, in order.
    ///   - isAllDone: Whether no other transfer of the group waits or runs.
    ///   - wanted: The events of which the user is notified.
    ///   - now: The time.
    package mutating func ended(
        _ endings: [Ending],
        isAllDone: Bool,
        wanted: Set<TransferNotification>,
        at now: Int64
    ) {
        if self.isQuiet(at: now), !self.isChanged, !self.isPosting {
            (self.shown, self.last, self.lastFailure, self.done, self.number) = (Counts(), nil, nil, nil, 0)
        }
        self.lastEnd = now
        for ending in endings {
            self.done = nil
            self.total.add(ending)
            guard wanted.contains(ending.failure == nil ? .finished : .failed) else { continue }
            self.shown.add(ending)
            self.last = ending
            if ending.failure != nil { self.lastFailure = ending }
            self.isChanged = true
        }
        guard isAllDone, self.total.all > 0 else { return }
        // The only end is a notification already, which says as much.
        if wanted.contains(.allDone), self.total.all > 1 || self.shown.all == 0 {
            self.done = self.total
            if self.last == nil { self.last = endings.last }
            self.isChanged = true
        }
        self.total = Counts()
    }

    /// A notification was posted and has this number; `nil` if that failed.
    package mutating func posted(_ number: UInt32?, at now: Int64) {
        self.isPosting = false
        self.lastPost = now
        if let number { self.number = number }
    }

    /// The time of a `wait` has come.
    package mutating func woke() { self.isWaiting = false }

    // MARK: Decision

    /// Returns what to do, or `nil` for nothing.
    package mutating func next(at now: Int64) -> Action? {
        guard self.isChanged, !self.isPosting else { return nil }
        if let lastPost, now < lastPost + Self.interval {
            guard !self.isWaiting else { return nil }
            self.isWaiting = true
            return .wait(until: lastPost + Self.interval)
        }
        self.isChanged = false
        self.isPosting = true
        return .post(self.notification, replacing: self.number)
    }

    private var notification: DesktopNotification {
        let (summary, body) = self.done.map(self.texts(whenDone:)) ?? self.texts
        return DesktopNotification(
            application: self.application,
            summary: summary,
            body: body,
            isFailure: (self.done ?? self.shown).failures > 0
        )
    }

    private func texts(whenDone done: Counts) -> (summary: String, body: String) {
        let summary = "All \(done.noun(2)) are done"
        guard done.all > 1 || self.last == nil else { return (summary, self.line(self.last)) }
        let failed = done.failures == 0 ? "" : ", \(done.failures) failed"
        return (summary, "\(done.finished) finished\(failed)")
    }

    private var texts: (summary: String, body: String) {
        let counts = self.shown
        if counts.all == 1 {
            let noun = counts.noun(1)
            let what = noun.prefix(1).uppercased() + noun.dropFirst()
            return ("\(what) \(counts.failures == 1 ? "failed" : "finished")", self.line(self.last))
        }
        let summary: String
        if counts.failures == 0 {
            summary = "\(counts.all) \(counts.noun(counts.all)) finished"
        } else if counts.finished == 0 {
            summary = "\(counts.all) \(counts.noun(counts.all)) failed"
        } else {
            summary = "\(counts.finished) \(counts.noun(counts.finished)) finished, \(counts.failures) failed"
        }
        // The reason of a failure is worth more than the name of a file.
        if let failed = self.lastFailure { return (summary, self.line(failed)) }
        let others = counts.all - 1
        return (summary, "\(self.last?.name ?? "") and \(others) other\(others == 1 ? "" : "s")")
    }

    private func line(_ ending: Ending?) -> String {
        guard let ending else { return "" }
        // The end of a name and the start of an error say most.
        let name = DesktopNotification.clean(ending.name, limit: 120)
        if let failure = ending.failure { return "\(name): \(failure)" }
        return "\(name), \(ByteCount.binary(ending.bytes))"
    }
}

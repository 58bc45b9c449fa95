// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// One download of an open list.
struct OfflineEntry: Sendable {
    /// The work in progress for a download.
    enum Work: Sendable {
        case none
        /// A task exists; the order is the last one given to it.
        case running(DownloadTask, OfflineRunner, Order)
    }

    /// An order to a task.
    enum Order: Sendable {
        case go
        /// Pause the task in the daemon; used in a background session, which can resume it later.
        case rest
        case end
    }

    var record: OfflineRecord
    /// The complete request, including unstored credentials.
    let request: TransferRequest
    var error: TransferError?
    /// Whether it was downloading when the program ended, and was not resumed yet.
    var isInterrupted = false
    /// Whether its bytes must be deleted before anything else.
    var discards = false
    /// Whether a file that is completed although the download was removed is deleted, too.
    var deletesFile = false
    var work = Work.none
    var meter = RateMeter()
    let observers = DelegateList<any OfflineDownload.Observer>()

    init(_ record: OfflineRecord, _ request: TransferRequest) {
        self.record = record
        self.request = request
        self.error = record.failure?.error
    }

    /// Whether it should be downloading.
    var isWanted: Bool { self.record.standing == .downloading && !self.isInterrupted }

    var isRemoved: Bool { self.record.standing == .removed }

    var state: OfflineDownload.State {
        switch self.record.standing {
        case .downloading: self.isInterrupted ? .suspended : .downloading
        case .suspended: .suspended
        case .stopped, .removed: .stopped
        case .failed: .failed
        case .finished: .finished
        }
    }

    // MARK: Decisions of the owner; each returns whether it changes anything

    mutating func suspend() -> Bool {
        guard self.record.standing == .downloading else { return false }
        self.record.standing = .suspended
        self.isInterrupted = false
        return true
    }

    mutating func resume() -> Bool {
        switch self.record.standing {
        case .downloading: guard self.isInterrupted else { return false }
        case .suspended, .stopped, .failed: break
        case .finished, .removed: return false
        }
        self.record.standing = .downloading
        self.isInterrupted = false
        self.forgetFailure()
        return true
    }

    mutating func stop() -> Bool {
        switch self.record.standing {
        case .downloading, .suspended, .failed: break
        case .stopped, .finished, .removed: return false
        }
        self.record.standing = .stopped
        self.isInterrupted = false
        self.forgetFailure()
        self.forgetBytes()
        return true
    }

    mutating func remove(deletingFile: Bool) -> Bool {
        guard !self.isRemoved else { return false }
        self.record.standing = .removed
        self.isInterrupted = false
        self.deletesFile = deletingFile
        self.forgetBytes()
        return true
    }

    private mutating func forgetFailure() {
        self.record.failure = nil
        self.error = nil
    }

    private mutating func forgetBytes() {
        self.discards = true
        self.record.received = 0
        self.meter = RateMeter()
    }
}

/// A rate over a moving window; it falls to zero when no bytes arrive any more.
struct RateMeter: Sendable {
    private static let span: Int64 = 3_000_000_000

    private var window = RateWindow(span: Self.span)
    private var latest: (bytes: Int64, time: Int64)?

    /// Records the number of bytes received at a time in nanoseconds.
    mutating func record(_ bytes: Int64, at time: Int64) {
        // An interruption does not count as a low rate.
        if let latest, time - latest.time > Self.span || bytes < latest.bytes {
            self.window = RateWindow(span: Self.span)
        }
        self.window.record(bytes, at: time)
        self.latest = (bytes, time)
    }

    /// The rate in bytes per second at a time in nanoseconds.
    func rate(at time: Int64) -> Double {
        guard let latest, time - latest.time <= Self.span else { return 0 }
        var window = self.window
        window.record(latest.bytes, at: max(time, latest.time))
        return window.rate
    }
}

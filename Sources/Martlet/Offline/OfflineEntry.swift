/// One download as a list that is open has it.
struct OfflineEntry: Sendable {
    /// What is being done about it just now.
    enum Work: Sendable {
        case none
        /// There is a task, and what it was told last.
        case running(DownloadTask, OfflineRunner, Order)
    }

    /// What a task was told.
    enum Order: Sendable {
        case go
        /// To rest in the daemon, of which a background session goes on with it.
        case rest
        case end
    }

    var record: OfflineRecord
    /// The whole request, with what is not kept.
    let request: TransferRequest
    var error: TransferError?
    /// Downloading when the program ended, and not gone on with yet.
    var isInterrupted = false
    /// Its bytes are to be deleted before anything else.
    var discards = false
    /// A file that comes to be though the download was removed is deleted, too.
    var deletesFile = false
    var work = Work.none
    var meter = RateMeter()
    let observers = DelegateList<any OfflineDownloadObserver>()

    init(_ record: OfflineRecord, _ request: TransferRequest) {
        self.record = record
        self.request = request
        self.error = record.failure?.error
    }

    /// Whether it is to be gone on with.
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

    // MARK: What its owner decides; each tells whether it changes anything

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

/// A rate over a moving window that falls to zero where nothing comes any more.
struct RateMeter: Sendable {
    private static let span: Int64 = 3_000_000_000

    private var window = RateWindow(span: Self.span)
    private var latest: (bytes: Int64, time: Int64)?

    /// Records how many bytes there were at a time in nanoseconds.
    mutating func record(_ bytes: Int64, at time: Int64) {
        // A rest does not count as slowness.
        if let latest, time - latest.time > Self.span || bytes < latest.bytes {
            self.window = RateWindow(span: Self.span)
        }
        self.window.record(bytes, at: time)
        self.latest = (bytes, time)
    }

    /// Bytes a second at a time.
    func rate(at time: Int64) -> Double {
        guard let latest, time - latest.time <= Self.span else { return 0 }
        var window = self.window
        window.record(latest.bytes, at: max(time, latest.time))
        return window.rate
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import TransferCore
internal import HTTPTransport
internal import Synchronization
internal import TransferEngine

/// The state of a list of downloads, shared by the list and the handles of its downloads.
///
/// Decisions are made under one lock; the thread that makes one writes it to the list. The resulting work (making and
/// ending tasks, deleting bytes) runs serially on a thread that may block on disks, by comparing the decided with the
/// actual state: ``reconcile(_:)``. Lock order: writer, then state.
final class OfflineCore: Sendable {
    struct State {
        /// The active downloads in the order of adding, and removed ones whose bytes still exist.
        var active: [String] = []
        /// The finished downloads in the order in which they finished.
        var finished: [String] = []
        var entries = OfflineEntries()
        /// The changed and removed downloads still to be written, by the number of their last change.
        var changes: [String: UInt64] = [:]
        private var lastChange: UInt64 = 0
        var received: Int64 = 0
        var meter = RateMeter()
        /// Finished downloads to be reported to the observers of the list.
        var untold: [String] = []
        /// Holds on ends of downloads in the daemon, until these are on disk.
        var holds: [CallOnce] = []
        var isSaveScheduled = false
        /// Whether the existing tasks are known; until then no download is touched.
        var isMatched = true
        /// Background sessions: whether the daemon received all decisions, or could not be reached.
        var hasLeft = false
        var isClosing = false
        var isClosed = false
        var closeWaiters: [@Sendable () -> Void] = []

        var records: [OfflineRecord] { (self.active + self.finished).compactMap { self.entries[$0]?.record } }
        var hasWork: Bool {
            self.entries.values.contains { if case .running = $0.work { true } else { false } }
        }

        /// Marks a download as changed or removed since the last write.
        mutating func changed(_ id: String) {
            self.lastChange += 1
            self.changes[id] = self.lastChange
        }
    }

    private struct Facade: Sendable { weak let list: OfflineDownloads? }

    let directory: String
    let state = Mutex(State())
    let session: TransferSession
    let observers = DelegateList<any OfflineDownloads.Observer>()
    /// The list on disk; the lock makes writes serial.
    let writer: Mutex<OfflineListFile>
    let finishedLimit: Int

    private let lock: ListLock
    let keepsSecrets: Bool
    private let facade = Mutex(Facade(list: nil))
    /// Serial queue for work that may block on disks.
    let disk = Inbox(CallbackContext { SharedRuntime.pool.run($0) })
    /// Serial queue for notifications, which keeps their order; on separate threads, so that no observer's context runs
    /// under the lock.
    private let notices = Inbox(.anyThread)
    private let start = ContinuousClock.now

    init(
        _ list: String,
        _ directory: String,
        _ configuration: SessionConfiguration,
        finishedLimit: Int,
        keepsSecrets: Bool
    ) throws(TransferError) {
        self.directory = ListPath.absolute(directory)
        let path = ListPath.absolute(list)
        self.writer = Mutex(OfflineListFile(path: path))
        self.finishedLimit = max(0, finishedLimit)
        self.keepsSecrets = keepsSecrets
        try ListPath.makeDirectory(ListPath.parent(path))
        self.lock = try ListLock(path + ".lock", for: path)
        var configuration = configuration
        // A list must not record a file as finished before the file is durable.
        configuration.isDurable = true
        // An end is acknowledged once the list has it on disk.
        configuration.acknowledgesEvents = .automatically
        // This process has the list's lock, so that the session's owner is probably an earlier run whose end the daemon
        // has not noticed yet.
        configuration.background?.patience = .seconds(15)
        self.session = try TransferSession(configuration: configuration)
        do throws(TransferError) {
            try self.read()
        } catch {
            self.session.leave()
            throw error
        }
    }

    /// Connects the list with the tasks of a background session; observers can be notified from now on.
    func begin() {
        if let background = self.session.background { self.match(background) }
    }

    var isBackground: Bool { self.session.isBackground }

    /// Sets the list that observers receive.
    func attach(_ list: OfflineDownloads) { self.facade.withLock { $0 = Facade(list: list) } }

    var now: Int64 {
        let (seconds, attoseconds) = (ContinuousClock.now - self.start).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    func target(_ name: String) -> FileTarget { FileTarget(directory: self.directory, name: name) }

    // MARK: Decisions

    /// Changes downloads by their owner's decision, writes the list, and performs the resulting work.
    ///
    /// The change stands even if the list cannot be written; the next write includes it.
    ///
    /// - Parameters:
    ///   - ids: The downloads; `nil` for all that have not finished.
    ///   - change: Changes one download and returns whether anything changed.
    /// - Throws: ``TransferError`` with `invalidated` if the list is closed, and the errors of ``save()``.
    func change(
        _ ids: [String]?,
        _ change: (inout OfflineEntry) -> Bool
    ) throws(TransferError) {
        let changed: [String]? = self.state.withLock { state in
            guard !state.isClosing else { return nil }
            let changed = (ids ?? state.active)
                .filter { id in
                    guard var entry = state.entries[id], !entry.isRemoved else { return false }
                    let before = entry.state
                    guard change(&entry) else { return false }
                    state.entries[id] = entry
                    if entry.isRemoved, state.finished.contains(id) {
                        state.finished.removeAll { $0 == id }
                        state.active.append(id)
                    }
                    if entry.state != before { self.tellState(id, entry) }
                    state.changed(id)
                    return true
                }
            return changed
        }
        guard let changed else { throw Self.isClosedError }
        for id in changed { self.disk.put { self.reconcile(id) } }
        if !changed.isEmpty { try self.save() }
    }

    /// Changes one download.
    ///
    /// - Throws: ``TransferError`` with `invalidated` if the list does not contain it any more, and the errors of
    ///   ``save()``.
    func change(_ id: String, _ change: (inout OfflineEntry) -> Bool) throws(TransferError) {
        let isThere = self.state.withLock { $0.isClosing || $0.entries[id].map { !$0.isRemoved } ?? false }
        guard isThere else {
            throw TransferError(.invalidated, "the download is no longer in the list", remedy: "add it again")
        }
        try self.change([id], change)
    }

    static var isClosedError: TransferError {
        TransferError(.invalidated, "the list of downloads is closed", remedy: "open it again")
    }

    // MARK: Notifications

    func handle(_ id: String, _ entry: OfflineEntry) -> OfflineDownload {
        OfflineDownload(id: id, url: entry.request.url, core: self)
    }

    func tellState(_ id: String, _ entry: OfflineEntry) {
        let (download, state) = (self.handle(id, entry), entry.state)
        self.tell(entry) { $0.download(download, didChangeTo: state) }
    }

    /// Notifies the observers of a download; called under the lock, which keeps the order.
    func tell(_ entry: OfflineEntry, _ call: @escaping @Sendable (any OfflineDownload.Observer) -> Void) {
        let own = entry.observers
        self.notices.put {
            for member in self.observers.current { member.tell { call($0) } }
            for member in own.current { member.tell(call) }
        }
    }

    func tellList(_ tell: @escaping @Sendable (OfflineDownloads, any OfflineDownloads.Observer) -> Void) {
        self.notices.put {
            guard let list = self.facade.withLock({ $0.list }) else { return }
            for member in self.observers.current { member.tell { tell(list, $0) } }
        }
    }

    // MARK: End

    /// Ends the running tasks, keeping their partial files, and releases the list.
    ///
    /// - Parameter waiter: Called when that is done and the last notifications were queued.
    func close(_ waiter: (@Sendable () -> Void)? = nil) {
        let ids: [String] = self.state.withLock { state in
            if let waiter { state.closeWaiters.append(waiter) }
            guard !state.isClosing else { return [] }
            state.isClosing = true
            return state.active
        }
        if let background = self.session.background { return self.leave(background) }
        // Running tasks end last, so that no waiting task starts in a slot that they free.
        for id in ids.reversed() { self.disk.put { self.reconcile(id) } }
        self.disk.put { self.closeIfQuiet() }
    }

    func closeIfQuiet() {
        let isQuiet = self.state.withLock { state in
            state.isClosing && !state.isSaveScheduled && (self.isBackground ? state.hasLeft : !state.hasWork)
        }
        guard isQuiet else { return }
        self.saveQuietly()
        let waiters = self.state.withLock { state in
            state.isClosed = true
            defer { state.closeWaiters = [] }
            return state.closeWaiters
        }
        if self.isBackground { self.letGo() } else { self.session.finishTasksAndInvalidate() }
        self.lock.release()
        self.notices.put { for waiter in waiters { waiter() } }
    }
}

internal import FileStorage
internal import FoundationEssentials
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
        var entries: [String: OfflineEntry] = [:]
        /// The number of changes, and of those that are on disk.
        var generation: UInt64 = 0
        var saved: UInt64 = 0
        var received: Int64 = 0
        var meter = RateMeter()
        /// Finished downloads to be reported to the observers of the list.
        var untold: [String] = []
        /// Holds on ends of downloads in the daemon, until these are on disk.
        var holds: [EventHold] = []
        var isSaveScheduled = false
        /// Whether the existing tasks are known; until then no download is touched.
        var isMatched = true
        /// Background sessions: whether the daemon received all decisions, or could not be reached.
        var hasLeft = false
        var isClosing = false
        var isClosed = false
        var closeWaiters: [@Sendable () -> Void] = []

        var records: [OfflineRecord] { (self.active + self.finished).compactMap { self.entries[$0]?.record } }
        var isSaved: Bool { self.generation == self.saved }
        var hasWork: Bool {
            self.entries.values.contains { if case .running = $0.work { true } else { false } }
        }
    }

    private struct Facade: Sendable { weak let list: OfflineDownloads? }

    let directory: String
    let state = Mutex(State())
    let session: TransferSession
    let observers = DelegateList<any OfflineDownloadsObserver>()
    let file: OfflineListFile
    let finishedLimit: Int

    private let lock: ListLock
    private let keepsSecrets: Bool
    private let writer = Mutex(())
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
        self.file = OfflineListFile(path: ListPath.absolute(list))
        self.finishedLimit = max(0, finishedLimit)
        self.keepsSecrets = keepsSecrets
        try ListPath.makeDirectory(ListPath.parent(self.file.path))
        self.lock = try ListLock(self.file.path + ".lock", for: self.file.path)
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

    // MARK: The list on disk

    /// Writes changes to disk, unless another thread has just written them.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file`; the list on disk is then unchanged.
    func save() throws(TransferError) {
        let error: TransferError? = self.writer.withLock { _ in
            let (records, generation, isSaved, holds) = self.state.withLock { state in
                defer { state.holds = [] }
                return (state.records, state.generation, state.isSaved || state.isClosed, state.holds)
            }
            guard !isSaved, let error = self.write(records, generation) else { return nil }
            self.state.withLock { $0.holds = holds + $0.holds }
            return error
        }
        if let error { throw error }
    }

    private func write(_ records: [OfflineRecord], _ generation: UInt64) -> TransferError? {
        do throws(TransferError) {
            try self.file.write(records)
            self.state.withLock { $0.saved = max($0.saved, generation) }
            return nil
        } catch {
            return error
        }
    }

    /// Schedules one write for all changes made by events, then reports finished downloads.
    func scheduleSave() {
        let isFirst = self.state.withLock { state in
            defer { state.isSaveScheduled = true }
            return !state.isSaveScheduled
        }
        guard isFirst else { return }
        self.disk.put {
            let finished = self.state.withLock { state in
                state.isSaveScheduled = false
                defer { state.untold = [] }
                return state.untold.compactMap { id in state.entries[id].map { self.handle(id, $0) } }
            }
            self.saveQuietly()
            for download in finished { self.tellList { $1.downloads($0, didFinish: download) } }
            self.closeIfQuiet()
        }
    }

    private func saveQuietly() {
        do throws(TransferError) {
            try self.save()
        } catch {
            self.tellList { $1.downloads($0, didFailToSave: error) }
        }
    }

    // MARK: Decisions

    /// Adds and starts a download.
    func add(
        _ request: TransferRequest,
        _ name: String?,
        _ userInfo: [String: String],
        isKept: Bool
    ) throws(TransferError) -> OfflineDownload {
        try TransferSession.check(request)
        guard request.method == "GET", request.body == nil, request.conditions.isEmpty else {
            throw TransferError(
                .badRequest,
                "a download of a list is repeated at will, so it is a plain GET without content or conditions"
            )
        }
        let result: Result<String, TransferError> = self.writer.withLock { _ in
            let proposed = FileName.choose(user: name, disposition: nil, url: request.url)
            let plain = OfflineRecord.isName(proposed) ? proposed : FileName.sanitize(proposed) ?? FileName.fallback
            let record = OfflineRecord(
                id: UUID().uuidString.lowercased(),
                name: self.freeName(plain),
                standing: .downloading,
                isKept: isKept,
                userInfo: userInfo,
                received: 0,
                request: OfflineRecord.Request(request, secrets: self.keepsSecrets)
            )
            let before: (records: [OfflineRecord], generation: UInt64)? = self.state.withLock { state in
                guard !state.isClosing else { return nil }
                state.generation += 1
                return (state.records + [record], state.generation)
            }
            guard let before else { return .failure(Self.isClosedError) }
            if let error = self.write(before.records, before.generation) { return .failure(error) }
            self.state.withLock { state in
                state.entries[record.id] = OfflineEntry(record, request)
                state.active.append(record.id)
            }
            return .success(record.id)
        }
        let id = try result.get()
        self.disk.put { self.reconcile(id) }
        return OfflineDownload(id: id, url: request.url, core: self)
    }

    /// A name that is unused in the list and in the directory, also for the partial file and the journal.
    private func freeName(_ wanted: String) -> String {
        let taken = self.state.withLock { state in
            Set(state.entries.values.flatMap { Self.names($0.record.name) })
        }
        var (name, number) = (wanted, 0)
        while Self.names(name).contains(where: { taken.contains($0) || ListPath.isTaken(self.target($0).path) }) {
            number += 1
            name = FileName.numbered(wanted, number)
        }
        return name
    }

    /// The names that a download uses: the file's, and those of the partial file and its journal (see DiskStore).
    private static func names(_ name: String) -> [String] { [name, name + ".part", name + ".part.journal"] }

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
                    return true
                }
            if !changed.isEmpty { state.generation += 1 }
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
            throw TransferError(.invalidated, "the download is not in the list any more", remedy: "add it again")
        }
        try self.change([id], change)
    }

    private static var isClosedError: TransferError {
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
    func tell(_ entry: OfflineEntry, _ call: @escaping @Sendable (any OfflineDownloadObserver) -> Void) {
        let own = entry.observers
        self.notices.put {
            for member in self.observers.current { member.tell { call($0) } }
            for member in own.current { member.tell(call) }
        }
    }

    private func tellList(_ tell: @escaping @Sendable (OfflineDownloads, any OfflineDownloadsObserver) -> Void) {
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

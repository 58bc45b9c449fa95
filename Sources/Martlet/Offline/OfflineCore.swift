internal import FileStorage
internal import FoundationEssentials
internal import HTTPTransport
internal import Synchronization
internal import TransferEngine

/// What a list of downloads is made of; the list and the handles of its downloads lead here.
///
/// Decisions are taken under one lock, and written to the list by whoever took them. What follows from them (making and
/// ending tasks, deleting bytes) is done one after the other on a thread that may wait for disks, by comparing what was
/// decided with what is going on: ``reconcile(_:)``. Lock order: writer, then state.
final class OfflineCore: Sendable {
    struct State {
        /// Active downloads in the order of adding, and those removed whose bytes are still there.
        var active: [String] = []
        /// Finished downloads in the order of their ends.
        var finished: [String] = []
        var entries: [String: OfflineEntry] = [:]
        /// Counts the changes, and those that are on disk.
        var generation: UInt64 = 0
        var saved: UInt64 = 0
        var received: Int64 = 0
        var meter = RateMeter()
        /// Finished downloads that observers of the list have not been told of.
        var untold: [String] = []
        /// What lets the daemon forget ends of downloads, as long as they are not on disk.
        var holds: [EventHold] = []
        var isSaveScheduled = false
        /// Whether the tasks are known that there are already; before that nothing is done about any download.
        var isMatched = true
        /// In a background session: whether the daemon was told everything, or could not be.
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
    /// What waits for disks, one after the other.
    let disk = Inbox(CallbackContext { SharedRuntime.pool.run($0) })
    /// What observers are told, in the order in which it happened; a thread of its own, so that none of their contexts
    /// ever runs under the lock.
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
        // A list that says "finished" must not outlive the file.
        configuration.isDurable = true
        // An end is acknowledged when the list has it on disk.
        configuration.acknowledgesEvents = .automatically
        // The list's lock is held: who has the session is most likely an earlier run whose end was not noticed yet.
        configuration.background?.patience = .seconds(15)
        self.session = try TransferSession(configuration: configuration)
        do throws(TransferError) {
            try self.read()
        } catch {
            self.session.leave()
            throw error
        }
    }

    /// Brings the list and what a background session goes on with together; from now on observers can hear of it.
    func begin() {
        if let background = self.session.background { self.match(background) }
    }

    var isBackground: Bool { self.session.isBackground }

    /// The list that observers are told of.
    func attach(_ list: OfflineDownloads) { self.facade.withLock { $0 = Facade(list: list) } }

    var now: Int64 {
        let (seconds, attoseconds) = (ContinuousClock.now - self.start).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    func target(_ name: String) -> FileTarget { FileTarget(directory: self.directory, name: name) }

    // MARK: The list on disk

    /// Writes what has changed; a change that another thread has just written is not written again.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file`; the list on disk is then as it was.
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

    /// Writes what changed by itself, once for all that is waiting to be dealt with, then tells what finished.
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

    /// Adds a download and begins it.
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

    /// A name that no other download of the list has or will have, nor anything in the directory.
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

    /// The names that a download uses: the file's, and as DiskStore has it the partial file's and its journal's.
    private static func names(_ name: String) -> [String] { [name, name + ".part", name + ".part.journal"] }

    /// Changes downloads as their owner decided, has that on disk, and sees to what follows.
    ///
    /// The change stands even where the list cannot be written: nothing is lost by it, and the next write has it.
    ///
    /// - Parameters:
    ///   - ids: Which; `nil` for all that have not finished.
    ///   - change: Changes one, and tells whether it did.
    /// - Throws: ``TransferError`` with `invalidated` where the list is closed, and what its write throws.
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
    /// - Throws: ``TransferError`` with `invalidated` where it is not in the list any more, and what the list's write throws.
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

    // MARK: What observers hear

    func handle(_ id: String, _ entry: OfflineEntry) -> OfflineDownload {
        OfflineDownload(id: id, url: entry.request.url, core: self)
    }

    func tellState(_ id: String, _ entry: OfflineEntry) {
        let (download, state) = (self.handle(id, entry), entry.state)
        self.tell(entry) { $0.download(download, didChangeTo: state) }
    }

    /// Tells those who hear of a download; under the lock, which keeps the order.
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

    // MARK: The end

    /// Ends what runs, keeping what can be gone on from, and gives the list free.
    ///
    /// - Parameter waiter: Called when that is done and the last notices were passed on.
    func close(_ waiter: (@Sendable () -> Void)? = nil) {
        let ids: [String] = self.state.withLock { state in
            if let waiter { state.closeWaiters.append(waiter) }
            guard !state.isClosing else { return [] }
            state.isClosing = true
            return state.active
        }
        if let background = self.session.background { return self.leave(background) }
        // Those that run come last: none of those that wait begins where one makes room.
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

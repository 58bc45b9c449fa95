internal import Synchronization

/// A persistent list of downloads for an app, kept in one file of its own.
///
/// After any exit, crash or kill the list and the bytes are there. What was downloading goes on at the next start where the
/// program calls ``resumeInterrupted()``, and is shown as suspended until then:
///
///     let list = try OfflineDownloads(list: "/var/lib/app/downloads.json", directory: "/var/lib/app/files")
///     list.addObserver(self, on: .main)
///     try list.resumeInterrupted()
///     let download = try list.add("https://example.com/film.mkv", userInfo: ["title": "A film"])
///
/// The file is replaced atomically (written, synced, renamed, its directory synced), when a download is added, removed,
/// changes its state or settings, finishes or fails; never for progress, which lies in the journals beside the partial
/// files. Names are kept relative to the directory, so that both may move between two runs. The file can be read by its
/// owner alone. Credentials are not written to it unless the list is made so: `Authorization`, `Cookie` and
/// `Proxy-Authorization` fields, and the user name and password of a URL, serve this run of the program only; the
/// configuration's credentials and cookies serve every run that has them.
///
/// With a configuration for a background session (``SessionConfiguration/background(identifier:stateDirectory:)``) the
/// downloads are the daemon's: they go on when the program is gone, and the next opening finds them downloading, or at their
/// end. The session is then the list's alone.
///
/// A list is open once at a time. It closes when it is let go of, or by ``close()``: what runs is then cut off with its
/// bytes kept, and counts as interrupted; in a background session it goes on. Every method may be called from any thread, and from observers.
public final class OfflineDownloads: Sendable {
    private let core: OfflineCore

    /// Opens a list, or makes a new one; nothing begins to download by that, but for what a background session goes on with.
    ///
    /// Downloads that are not kept over restarts are dropped with their partial bytes. Blocks while it looks at the
    /// partial files.
    ///
    /// - Parameters:
    ///   - list: The list's file; a lock file lies beside it.
    ///   - directory: The directory of the downloaded files.
    ///   - configuration: How the downloads are made; they are always synced to disk before they count as finished. A
    ///     background session's events are acknowledged by the list, once it has them on disk.
    ///   - finishedLimit: How many finished downloads stay in the list; beyond that the oldest are forgotten. Files stay.
    ///   - keepsSecrets: Whether credentials in header fields and URLs are written to the list.
    ///   - observer: An observer, held weakly, that misses nothing: what a background session did meanwhile may be told
    ///     before ``addObserver(_:on:)`` could be called.
    ///   - context: Where it is called.
    /// - Throws: ``TransferError`` with `listDamaged` where the file cannot be read as a list: it is then set aside under
    ///   another name, and the next call makes a new one; `listTooNew`, `listInUse`, `file`, `noSpace`,
    ///   `badConfiguration`.
    public init(
        list: String,
        directory: String,
        configuration: SessionConfiguration = .default,
        finishedLimit: Int = 1000,
        keepsSecrets: Bool = false,
        observer: (any OfflineDownloadsObserver)? = nil,
        on context: CallbackContext = .anyThread
    ) throws(TransferError) {
        self.core = try OfflineCore(
            list,
            directory,
            configuration,
            finishedLimit: finishedLimit,
            keepsSecrets: keepsSecrets
        )
        self.core.attach(self)
        if let observer { self.addObserver(observer, on: context) }
        self.core.begin()
    }

    deinit { self.core.close() }

    /// Closes the list: what runs is cut off and keeps its bytes, and others may open the list.
    ///
    /// In a background session what runs goes on, and this returns when the daemon was told all that was decided, or could
    /// be neither reached nor started; what it was not told then, the next opening tells it.
    ///
    /// The downloads keep the states that they have in the list's file. Later changes throw `invalidated`.
    public func close() async {
        await withCheckedContinuation { continuation in self.core.close { continuation.resume() } }
    }

    // MARK: The downloads

    /// The downloads that have not finished, in the order of adding.
    public var downloads: [OfflineDownload] {
        self.core.state.withLock { state in self.handles(state.active, state) }
    }

    /// The downloads that have finished, in the order of their ends.
    public var finishedDownloads: [OfflineDownload] {
        self.core.state.withLock { state in self.handles(state.finished, state) }
    }

    /// The download with an id, finished or not.
    public func download(id: String) -> OfflineDownload? {
        self.core.state.withLock { state in self.handles([id], state).first }
    }

    private func handles(_ ids: [String], _ state: OfflineCore.State) -> [OfflineDownload] {
        ids.compactMap { id in state.entries[id].flatMap { $0.isRemoved ? nil : self.core.handle(id, $0) } }
    }

    /// Bytes a second of all downloads over the last three seconds.
    public var rate: Double {
        let now = self.core.now
        return self.core.state.withLock { $0.meter.rate(at: now) }
    }

    /// The rate, as `ByteCount.compactRate` writes it.
    ///
    /// - Parameter base: What a kilobyte is.
    /// - Returns: Such as `1.50MB/s`.
    public func rateText(base: ByteCount.Base = .binary) -> String { ByteCount.compactRate(self.rate, base: base) }

    /// Changes how many downloads run at once; those beyond a lower limit run to their end.
    public func setConcurrentTransfers(_ count: Int) { self.core.session.setConcurrentTransfers(count) }

    /// Changes the rate over all downloads, in bytes a second; `nil` lifts the limit.
    public func setRateLimit(_ rate: Int64?) { self.core.session.setRateLimit(rate) }

    /// Adds a download and begins it; it is in the list on disk when this returns.
    ///
    /// Its file's name is chosen now and kept: the given one or else the URL's, made one safe component of a path, with a
    /// number where another download or any file has it. What the response proposes is not asked: a file that is to be
    /// gone on from after a crash must have its name before its first byte.
    ///
    /// - Parameters:
    ///   - request: What to ask for: a plain GET, which may have header fields, mirrors and digests.
    ///   - name: The file's name, or `nil`.
    ///   - userInfo: The program's own information, kept in the list.
    ///   - keepsOverRestarts: Whether it is kept when the program starts again.
    /// - Returns: The download.
    /// - Throws: ``TransferError`` with `badURL` or `badRequest`; with `noSpace` or `file` where the list cannot be written:
    ///   then nothing was added; with `invalidated` where the list is closed.
    @discardableResult
    public func add(
        _ request: some RequestConvertible,
        name: String? = nil,
        userInfo: [String: String] = [:],
        keepsOverRestarts: Bool = true
    ) throws(TransferError) -> OfflineDownload {
        try self.core.add(request.transferRequest(), name, userInfo, isKept: keepsOverRestarts)
    }

    // MARK: All downloads

    /// Goes on with what was downloading when the last run of the program ended.
    ///
    /// - Returns: Those downloads.
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is closed.
    @discardableResult
    public func resumeInterrupted() throws(TransferError) -> [OfflineDownload] {
        let interrupted = self.downloads.filter(\.isInterrupted)
        try self.core.change(interrupted.map(\.id)) { $0.isInterrupted && $0.resume() }
        return interrupted
    }

    /// Suspends every download that is downloading.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is closed.
    public func suspendAll() throws(TransferError) { try self.core.change(nil) { $0.suspend() } }

    /// Goes on with every download that has not finished: suspended, stopped and failed.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is closed.
    public func resumeAll() throws(TransferError) { try self.core.change(nil) { $0.resume() } }

    /// Stops every download that has not finished; their bytes are deleted soon after.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is closed.
    public func stopAll() throws(TransferError) { try self.core.change(nil) { $0.stop() } }

    // MARK: Observers

    /// Adds an observer of the list and all its downloads; one that is added twice is told once.
    ///
    /// - Parameters:
    ///   - observer: The observer, held weakly.
    ///   - context: Where it is called.
    public func addObserver(_ observer: any OfflineDownloadsObserver, on context: CallbackContext = .anyThread) {
        self.core.observers.add(ObjectIdentifier(observer), on: context) { [weak observer] in observer }
    }

    /// Removes an observer; a call under way comes to its end.
    public func removeObserver(_ observer: any OfflineDownloadsObserver) {
        self.core.observers.remove(ObjectIdentifier(observer))
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// A persistent list of downloads for an app, stored in one file.
///
/// The list and the received bytes survive any exit, crash or kill. Interrupted downloads are shown as suspended at the
/// next start, until the program calls ``resumeInterrupted()``:
///
///     let list = try OfflineDownloads(list: "/var/lib/app/downloads.json", directory: "/var/lib/app/files")
///     list.addObserver(self, on: .main)
///     try list.resumeInterrupted()
///     let download = try list.add("https://example.com/film.mkv", userInfo: ["title": "A film"])
///
/// The file is written and synced when a download is added, removed or finished, fails, or changes its state or
/// settings; not for progress, which is in the journals next to the partial files. A change is appended, so that it
/// costs as much in a long list as in a short one; once most of the file is obsolete, it is replaced atomically. Names
/// are stored relative to the directory, so that both may be moved between two runs. Only its owner can
/// read the file. Unless the list is made with `keepsSecrets`, it does not contain credentials: `Authorization`,
/// `Cookie` and `Proxy-Authorization` fields, and the user name and password of a URL, are used in this run of the
/// program only. The configuration's credentials and cookies are used in every run that sets them.
///
/// With a configuration for a background session (``SessionConfiguration/background(identifier:stateDirectory:)-(_,String?)``) the
/// daemon runs the downloads: they continue after the program has ended, and the next opening finds them running or
/// ended. The session must then be used by this list only.
///
/// A list can be open only once at a time. It closes when it is released, or by ``close()``: running downloads are then
/// interrupted and keep their bytes; in a background session they continue. Every method may be called from any thread,
/// and from observers.
public final class OfflineDownloads: Sendable {
    private let core: OfflineCore

    /// Opens a list, or creates a new one; this starts no download, but a background session continues its own.
    ///
    /// Downloads that do not persist across restarts are removed with their partial bytes. Blocks while it examines the
    /// partial files.
    ///
    /// - Parameters:
    ///   - list: The path of the list's file; a lock file is created next to it.
    ///   - directory: The directory of the downloaded files.
    ///   - configuration: The configuration of the downloads; they are always synced to disk before they count as
    ///     finished. The list acknowledges a background session's events once it has them on disk.
    ///   - finishedLimit: The number of finished downloads that stay in the list; beyond that the oldest are removed
    ///     from it. Their files stay.
    ///   - keepsSecrets: Whether credentials in header fields and URLs are written to the list.
    ///   - observer: An observer, referenced weakly, that receives every event: those of a background session may be
    ///     delivered before ``addObserver(_:on:)`` could be called.
    ///   - context: The context in which it is called.
    /// - Throws: ``TransferError`` with `listDamaged` if the file is not a valid list: it is then renamed, and the next
    ///   call creates a new one; `listTooNew`, `listInUse`, `file`, `noSpace`, `badConfiguration`.
    public init(
        list: String,
        directory: String,
        configuration: SessionConfiguration = .default,
        finishedLimit: Int = 1000,
        keepsSecrets: Bool = false,
        observer: (any OfflineDownloads.Observer)? = nil,
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

    /// Closes the list: running downloads are interrupted and keep their bytes, and the list may be opened again.
    ///
    /// In a background session running downloads continue. This returns when the daemon has received all decisions, or
    /// could be neither reached nor started; the next opening sends it the rest.
    ///
    /// The downloads keep the states that they have in the list's file. Later changes throw `invalidated`.
    public func close() async {
        await withCheckedContinuation { continuation in self.core.close { continuation.resume() } }
    }

    // MARK: Downloads

    /// The downloads that have not finished, in the order of adding.
    public var downloads: [OfflineDownload] {
        self.core.state.withLock { state in self.handles(state.active, state) }
    }

    /// The downloads that have finished, in the order in which they finished.
    public var finishedDownloads: [OfflineDownload] {
        self.core.state.withLock { state in self.handles(state.finished, state) }
    }

    /// The download with the given id, finished or not.
    public func download(id: String) -> OfflineDownload? {
        self.core.state.withLock { state in self.handles([id], state).first }
    }

    private func handles(_ ids: [String], _ state: OfflineCore.State) -> [OfflineDownload] {
        ids.compactMap { id in state.entries[id].flatMap { $0.isRemoved ? nil : self.core.handle(id, $0) } }
    }

    /// The rate of all downloads over the last three seconds, in bytes per second.
    public var rate: Double {
        let now = self.core.now
        return self.core.state.withLock { $0.meter.rate(at: now) }
    }

    /// The rate, formatted by `ByteCount.compactRate`.
    ///
    /// - Parameter base: The base of the units.
    /// - Returns: A text such as `1.50MB/s`.
    public func rateText(base: ByteCount.Base = .binary) -> String { ByteCount.compactRate(self.rate, base: base) }

    /// The maximum number of downloads that run at once, at least 1: a lower value is taken as 1.
    ///
    /// A higher number starts waiting downloads at once. Running ones beyond a lower number are not interrupted.
    public var concurrentTransfers: Int {
        get { self.core.session.concurrentTransfers }
        set { self.core.session.concurrentTransfers = newValue }
    }

    /// The rate limit of all downloads together in bytes per second; `nil`, and zero or less, for none.
    public var rateLimit: Int64? {
        get { self.core.session.rateLimit }
        set { self.core.session.rateLimit = newValue }
    }

    /// Adds and starts a download; it is in the list on disk when this returns.
    ///
    /// The file's name is chosen now and kept: the given one or else the URL's, made a safe path component, with a
    /// number if another download or a file has it. A name that the response proposes is not used: a file that is to be
    /// resumed after a crash must have its name before its first byte.
    ///
    /// - Parameters:
    ///   - request: The request: a plain GET, which may have header fields, mirrors and digests.
    ///   - name: The file's name, or `nil`.
    ///   - userInfo: Values set by the program, stored in the list.
    ///   - keepsOverRestarts: Whether it is kept when the program starts again.
    /// - Returns: The download.
    /// - Throws: ``TransferError`` with `badURL` or `badRequest`; with `noSpace` or `file` if the list cannot be
    ///   written: then nothing was added; with `invalidated` if the list is closed.
    @discardableResult
    public func add(
        _ request: some RequestConvertible,
        name: String? = nil,
        userInfo: [String: String] = [:],
        keepsOverRestarts: Bool = true
    ) throws(TransferError) -> OfflineDownload {
        let item = try OfflineDownload.Request(
            request,
            name: name,
            userInfo: userInfo,
            keepsOverRestarts: keepsOverRestarts
        )
        let added = try self.core.add([item])
        guard let download = added.first else { throw TransferError(.unknown, "no download was added") }
        return download
    }

    /// Adds and starts many downloads, all or none; they are in the list on disk, with one write, when this returns.
    ///
    /// - Parameter requests: The downloads; see ``add(_:name:userInfo:keepsOverRestarts:)``.
    /// - Returns: The downloads in the same order.
    /// - Throws: ``TransferError`` with `badRequest`; with `noSpace` or `file` if the list cannot be written; with
    ///   `invalidated` if the list is closed.
    @discardableResult
    public func add(
        contentsOf requests: some Sequence<OfflineDownload.Request>
    ) throws(TransferError) -> [OfflineDownload] { try self.core.add(Array(requests)) }

    /// Adds and starts a download of each URL or request, all or none, with one write.
    ///
    /// - Parameter requests: The requests or URLs.
    /// - Returns: The downloads in the same order.
    /// - Throws: ``TransferError`` with `badURL` or `badRequest`; with `noSpace` or `file` if the list cannot be
    ///   written; with `invalidated` if the list is closed.
    @discardableResult
    public func add(contentsOf requests: some Sequence<some RequestConvertible>) throws(TransferError)
        -> [OfflineDownload]
    {
        var items: [OfflineDownload.Request] = []
        for request in requests { items.append(try OfflineDownload.Request(request)) }
        return try self.core.add(items)
    }

    // MARK: All downloads

    /// Resumes the downloads that were interrupted when the last run of the program ended.
    ///
    /// - Returns: Those downloads.
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed.
    @discardableResult
    public func resumeInterrupted() throws(TransferError) -> [OfflineDownload] {
        let interrupted = self.downloads.filter(\.isInterrupted)
        try self.core.change(interrupted.map(\.id)) { $0.isInterrupted && $0.resume() }
        return interrupted
    }

    /// Suspends every download that is downloading.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed.
    public func suspendAll() throws(TransferError) { try self.core.change(nil) { $0.suspend() } }

    /// Resumes every unfinished download: suspended, stopped and failed.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed.
    public func resumeAll() throws(TransferError) { try self.core.change(nil) { $0.resume() } }

    /// Stops every unfinished download; their bytes are deleted soon after.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed.
    public func stopAll() throws(TransferError) { try self.core.change(nil) { $0.stop() } }

    // MARK: Observers

    /// Adds an observer of the list and all its downloads; adding it again only changes its context.
    ///
    /// - Parameters:
    ///   - observer: The observer, referenced weakly.
    ///   - context: The context in which it is called.
    public func addObserver(_ observer: any OfflineDownloads.Observer, on context: CallbackContext = .anyThread) {
        self.core.observers.add(ObjectIdentifier(observer), on: context) { [weak observer] in observer }
    }

    /// Removes an observer; a call in progress is completed.
    public func removeObserver(_ observer: any OfflineDownloads.Observer) {
        self.core.observers.remove(ObjectIdentifier(observer))
    }
}

internal import Synchronization
internal import TransferEngine

/// One download of a list: a handle that is cheap to copy and leads to what the list knows.
///
/// Each method that changes something has the change in the list's file before it returns, which blocks for as long as
/// a small file takes to reach the disk. Where that fails it throws, and the change stands in this process: nothing is
/// lost by it, and the next change writes it as well.
public struct OfflineDownload: Sendable, Identifiable {
    /// Where a download stands.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Transferring, or waiting for its turn or its next attempt.
        case downloading
        /// Waiting for ``OfflineDownload/resume()``; it keeps its bytes.
        case suspended
        /// Ended by its owner, without bytes; ``OfflineDownload/resume()`` begins it anew.
        case stopped
        /// The file is whole and at ``OfflineDownload/path``.
        case finished
        /// Ended by an error, see ``OfflineDownload/error``; it keeps its bytes, and ``OfflineDownload/resume()`` tries again.
        case failed
    }

    /// What identifies the download in every run of the program.
    public let id: String
    /// The URL that is asked.
    public let url: HTTPURL

    let core: OfflineCore

    private func read<Value: Sendable>(_ value: (OfflineEntry) -> Value) -> Value? {
        self.core.state.withLock { $0.entries[self.id].map(value) }
    }

    // MARK: What is known of it

    /// Where it stands; `stopped` once it was removed.
    public var state: State { self.read { $0.state } ?? .stopped }

    /// Whether it was downloading when the last run of the program ended, and was not gone on with yet.
    ///
    /// It is shown as suspended; ``OfflineDownloads/resumeInterrupted()`` goes on with it. In a background session it means
    /// that the session cannot go on, which ``error`` explains; the next opening of the list goes on by itself.
    public var isInterrupted: Bool { self.read { $0.isInterrupted } ?? false }

    /// The file's name; it is chosen when the download is added.
    public var name: String { self.read { $0.record.name } ?? "" }

    /// Where the file is, or will be; empty once the download was removed.
    public var path: String { self.read { self.core.target($0.record.name).path } ?? "" }

    /// The bytes that are there.
    public var bytesReceived: Int64 { self.read { $0.record.received } ?? 0 }

    /// The length of the whole, or `nil` while it is unknown.
    public var bytesExpected: Int64? { self.read { $0.record.expected } ?? nil }

    /// From 0 to 1, or `nil` while the length is unknown.
    public var fraction: Double? {
        self.read { entry in
            if entry.record.standing == .finished { return 1 }
            return entry.record.expected.map { $0 > 0 ? min(1, Double(entry.record.received) / Double($0)) : 0 }
        } ?? nil
    }

    /// Bytes a second over the last three seconds.
    public var rate: Double {
        let now = self.core.now
        return self.read { $0.state == .downloading ? $0.meter.rate(at: now) : 0 } ?? 0
    }

    /// Why it failed, or `nil`; the response's body is known only to the run of the program in which it failed.
    public var error: TransferError? { self.read { $0.error } ?? nil }

    /// The program's own information.
    public var userInfo: [String: String] { self.read { $0.record.userInfo } ?? [:] }

    /// Whether it is kept when the program starts again.
    ///
    /// Otherwise the next start drops it with the bytes of an unfinished file; a finished file stays.
    public var keepsOverRestarts: Bool { self.read { $0.record.isKept } ?? false }

    // MARK: Sizes for people

    /// The bytes that are there, as `ByteCount.compact` writes them.
    ///
    /// - Parameter base: What a kilobyte is.
    /// - Returns: Such as `1.50MB`.
    public func receivedText(base: ByteCount.Base = .binary) -> String {
        ByteCount.compact(self.bytesReceived, base: base)
    }

    /// The length of the whole, as `ByteCount.compact` writes it; `nil` while it is unknown.
    ///
    /// - Parameter base: What a kilobyte is.
    /// - Returns: Such as `1.50MB`, or `nil`.
    public func expectedText(base: ByteCount.Base = .binary) -> String? {
        self.bytesExpected.map { ByteCount.compact($0, base: base) }
    }

    /// The rate, as `ByteCount.compactRate` writes it.
    ///
    /// - Parameter base: What a kilobyte is.
    /// - Returns: Such as `1.50MB/s`.
    public func rateText(base: ByteCount.Base = .binary) -> String { ByteCount.compactRate(self.rate, base: base) }

    // MARK: What its owner decides

    /// Suspends it; it keeps its bytes.
    ///
    /// A file of a declared length of at most 256 KiB is received without a journal and restarts.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is
    ///   closed or the download was removed.
    public func suspend() throws(TransferError) { try self.core.change(self.id) { $0.suspend() } }

    /// Goes on with it, from the bytes that are there; a failed one is tried again, a stopped one begins anew.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is
    ///   closed or the download was removed.
    public func resume() throws(TransferError) { try self.core.change(self.id) { $0.resume() } }

    /// Ends it; its bytes are deleted soon after.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is
    ///   closed or the download was removed.
    public func stop() throws(TransferError) { try self.core.change(self.id) { $0.stop() } }

    /// Takes it out of the list; the bytes of an unfinished file are deleted soon after.
    ///
    /// - Parameter deletingFile: Whether a finished file is deleted, too.
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is
    ///   closed or the download was removed before.
    public func remove(deletingFile: Bool = false) throws(TransferError) {
        try self.core.change(self.id) { $0.remove(deletingFile: deletingFile) }
    }

    /// Changes whether it is kept when the program starts again.
    ///
    /// - Parameter keeps: Whether it is.
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is
    ///   closed or the download was removed.
    public func setKeepsOverRestarts(_ keeps: Bool) throws(TransferError) {
        try self.core.change(self.id) { entry in
            defer { entry.record.isKept = keeps }
            return entry.record.isKept != keeps
        }
    }

    /// Changes the program's own information.
    ///
    /// - Parameter userInfo: The new information.
    /// - Throws: ``TransferError`` with `noSpace` or `file` where the list cannot be written, `invalidated` where it is
    ///   closed or the download was removed.
    public func setUserInfo(_ userInfo: [String: String]) throws(TransferError) {
        try self.core.change(self.id) { entry in
            defer { entry.record.userInfo = userInfo }
            return entry.record.userInfo != userInfo
        }
    }

    // MARK: Observers

    /// Adds an observer of this download; one that is added twice is told once.
    ///
    /// An observer of the list hears of every download anyway.
    ///
    /// - Parameters:
    ///   - observer: The observer, held weakly.
    ///   - context: Where it is called.
    public func addObserver(_ observer: any OfflineDownloadObserver, on context: CallbackContext = .anyThread) {
        let observers = self.read { $0.observers }
        observers?.add(ObjectIdentifier(observer), on: context) { [weak observer] in observer }
    }

    /// Removes an observer; a call under way comes to its end.
    public func removeObserver(_ observer: any OfflineDownloadObserver) {
        self.read { $0.observers }?.remove(ObjectIdentifier(observer))
    }
}

extension OfflineDownload: Hashable {
    /// Whether two handles are of the same download.
    public static func == (left: OfflineDownload, right: OfflineDownload) -> Bool { left.id == right.id }

    /// Hashes the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.id) }
}

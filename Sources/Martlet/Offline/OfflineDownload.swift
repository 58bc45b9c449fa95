// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferEngine

/// One download of a list: a handle that is cheap to copy and reads the list's state.
///
/// Each method that makes a change returns after the change is in the list's file, and so blocks until a small file has
/// been synced to disk. If that fails, it throws, but the change stands in this process, and the next change writes it
/// as well.
public struct OfflineDownload: Sendable, Identifiable {
    /// The state of a download.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Transferring, or waiting for a slot or a retry.
        case downloading
        /// Waiting for ``OfflineDownload/resume()``; its bytes are kept.
        case suspended
        /// Stopped by its owner and without bytes; ``OfflineDownload/resume()`` restarts it.
        case stopped
        /// The file is complete and at ``OfflineDownload/path``.
        case finished
        /// Failed, see ``OfflineDownload/error``; its bytes are kept, and ``OfflineDownload/resume()`` retries it.
        case failed
    }

    /// The identifier of the download, the same in every run of the program.
    public let id: String
    /// The URL of the download.
    public let url: HTTPURL

    let core: OfflineCore

    private func read<Value: Sendable>(_ value: (OfflineEntry) -> Value) -> Value? {
        self.core.state.withLock { $0.entries[self.id].map(value) }
    }

    // MARK: Properties

    /// The current state; `stopped` once the download was removed.
    public var state: State { self.read { $0.state } ?? .stopped }

    /// Whether it was downloading when the last run of the program ended, and was not resumed yet.
    ///
    /// Its state is `suspended`; ``OfflineDownloads/resumeInterrupted()`` resumes it. In a background session it means
    /// that the session cannot continue, for the reason in ``error``; the next opening of the list resumes the
    /// download.
    public var isInterrupted: Bool { self.read { $0.isInterrupted } ?? false }

    /// The file's name, chosen when the download was added.
    public var name: String { self.read { $0.record.name } ?? "" }

    /// The path of the file, complete or not; empty once the download was removed.
    public var path: String { self.read { self.core.target($0.record.name).path } ?? "" }

    /// The number of bytes received.
    public var bytesReceived: Int64 { self.read { $0.record.received } ?? 0 }

    /// The length of the complete file in bytes, or `nil` while it is unknown.
    public var bytesExpected: Int64? { self.read { $0.record.expected } ?? nil }

    /// The received fraction, from 0 to 1, or `nil` while the length is unknown.
    public var fraction: Double? {
        self.read { entry in
            if entry.record.standing == .finished { return 1 }
            return entry.record.expected.map { $0 > 0 ? min(1, Double(entry.record.received) / Double($0)) : 0 }
        } ?? nil
    }

    /// The rate over the last three seconds, in bytes per second; 0 unless it is downloading or has just finished.
    public var rate: Double {
        let now = self.core.now
        return self.read { entry in
            // Also of one that has just finished, for the observers of its last bytes.
            switch entry.state {
            case .downloading, .finished: entry.meter.rate(at: now)
            case .suspended, .stopped, .failed: 0
            }
        } ?? 0
    }

    /// The error of a failed download, or `nil`; the response's body is known only in the run in which it failed.
    public var error: TransferError? { self.read { $0.error } ?? nil }

    /// Values set by the program.
    public var userInfo: [String: String] { self.read { $0.record.userInfo } ?? [:] }

    /// Whether the download is kept when the program starts again.
    ///
    /// Otherwise the next start removes it and the bytes of an unfinished file; a finished file stays.
    public var keepsOverRestarts: Bool { self.read { $0.record.isKept } ?? false }

    // MARK: Formatted sizes

    /// The number of bytes received, formatted by `ByteCount.compact`.
    ///
    /// - Parameter base: The base of the units.
    /// - Returns: A text such as `1.50MB`.
    public func receivedText(base: ByteCount.Base = .binary) -> String {
        ByteCount.compact(self.bytesReceived, base: base)
    }

    /// The length of the complete file, formatted by `ByteCount.compact`; `nil` while it is unknown.
    ///
    /// - Parameter base: The base of the units.
    /// - Returns: A text such as `1.50MB`, or `nil`.
    public func expectedText(base: ByteCount.Base = .binary) -> String? {
        self.bytesExpected.map { ByteCount.compact($0, base: base) }
    }

    /// The rate, formatted by `ByteCount.compactRate`.
    ///
    /// - Parameter base: The base of the units.
    /// - Returns: A text such as `1.50MB/s`.
    public func rateText(base: ByteCount.Base = .binary) -> String { ByteCount.compactRate(self.rate, base: base) }

    // MARK: Changes

    /// Suspends the download; its bytes are kept.
    ///
    /// A file of a declared length of at most 256 KiB is received without a journal and restarts.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed or the download was removed.
    public func suspend() throws(TransferError) { try self.core.change(self.id) { $0.suspend() } }

    /// Resumes the download from the bytes received; a failed one is retried, a stopped one restarts.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed or the download was removed.
    public func resume() throws(TransferError) { try self.core.change(self.id) { $0.resume() } }

    /// Stops the download; its bytes are deleted soon after.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed or the download was removed.
    public func stop() throws(TransferError) { try self.core.change(self.id) { $0.stop() } }

    /// Removes the download from the list; the bytes of an unfinished file are deleted soon after.
    ///
    /// - Parameter deletingFile: Whether a finished file is deleted, too.
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed or the download was removed before.
    public func remove(deletingFile: Bool = false) throws(TransferError) {
        try self.core.change(self.id) { $0.remove(deletingFile: deletingFile) }
    }

    /// Changes whether the download is kept when the program starts again.
    ///
    /// - Parameter keeps: Whether it is kept.
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed or the download was removed.
    public func setKeepsOverRestarts(_ keeps: Bool) throws(TransferError) {
        try self.core.change(self.id) { entry in
            defer { entry.record.isKept = keeps }
            return entry.record.isKept != keeps
        }
    }

    /// Changes the values set by the program.
    ///
    /// - Parameter userInfo: The new values.
    /// - Throws: ``TransferError`` with `noSpace` or `file` if the list cannot be written, `invalidated` if it is
    ///   closed or the download was removed.
    public func setUserInfo(_ userInfo: [String: String]) throws(TransferError) {
        try self.core.change(self.id) { entry in
            defer { entry.record.userInfo = userInfo }
            return entry.record.userInfo != userInfo
        }
    }

    // MARK: Observers

    /// Adds an observer of this download; adding it again only changes its context.
    ///
    /// An observer of the list is notified of every download without this call.
    ///
    /// - Parameters:
    ///   - observer: The observer, referenced weakly.
    ///   - context: The context in which it is called.
    public func addObserver(_ observer: any OfflineDownload.Observer, on context: CallbackContext = .anyThread) {
        let observers = self.read { $0.observers }
        observers?.add(ObjectIdentifier(observer), on: context) { [weak observer] in observer }
    }

    /// Removes an observer; a call in progress is completed.
    public func removeObserver(_ observer: any OfflineDownload.Observer) {
        self.read { $0.observers }?.remove(ObjectIdentifier(observer))
    }
}

extension OfflineDownload: Hashable {
    /// Whether two handles refer to the same download.
    public static func == (left: OfflineDownload, right: OfflineDownload) -> Bool { left.id == right.id }

    /// Hashes the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.id) }
}

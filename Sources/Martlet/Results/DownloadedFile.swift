// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import TransferCore
internal import Files
internal import Synchronization
internal import TransferEngine

/// A finished download's file.
///
/// If a destination was given, the file is there and stays. Otherwise it is temporary and belongs to the recipients of
/// this object: it is deleted when the last reference to this object is released, so at the latest when a completion
/// handler or a delegate method returns without keeping one. To keep the file, move it with ``move(to:ifExists:)-(String,_)`` or
/// take ownership with ``keep()`` before.
public final class DownloadedFile: Sendable {
    private struct Place {
        var path: String
        var isOurs: Bool
        /// Background sessions: keeps the file's event unacknowledged until the file is moved, kept or deleted.
        var hold: CallOnce?
    }

    /// The response's head; `nil` if no request was made because an existing file has the expected digest.
    public let response: TransferResponse?
    /// The file's length in bytes; 0 if nothing was written because the caller's copy is current (304).
    public let size: Int64
    /// Whether the server reported that the caller's copy is current (304); then nothing was written.
    public let isNotModified: Bool
    /// Whether the file existed and equals the server's, as checked by ``Destination/ExistingFileRule/keepIfSame``.
    public let alreadyExisted: Bool

    private let place: Mutex<Place>

    init(
        path: String,
        isTemporary: Bool,
        response: TransferResponse?,
        size: Int64,
        isNotModified: Bool,
        alreadyExisted: Bool,
        hold: CallOnce? = nil
    ) {
        self.response = response
        self.size = size
        self.isNotModified = isNotModified
        self.alreadyExisted = alreadyExisted
        self.place = Mutex(Place(path: path, isOurs: isTemporary && !isNotModified, hold: hold))
    }

    deinit {
        let place = self.place.withLock { $0 }
        if place.isOurs { FileMover.remove(place.path) }
    }

    /// The path of the file; empty if a conditional request without a destination received no file.
    public var path: String { self.place.withLock { $0.path } }

    /// Whether the file is deleted when this object is released.
    public var isTemporary: Bool { self.place.withLock { $0.isOurs } }

    /// Takes ownership of the file: it stays at ``path``, and the caller deletes it.
    public func keep() {
        // Released outside the lock.
        let hold = self.place.withLock { place in
            place.isOurs = false
            defer { place.hold = nil }
            return place.hold
        }
        withExtendedLifetime(hold) {}
    }

    /// Moves the file: renames it on the same filesystem, otherwise copies, syncs and then renames it.
    ///
    /// Blocks while the file is copied.
    ///
    /// - Parameters:
    ///   - path: The new path; its directory must exist.
    ///   - existing: The rule if the path exists: `fail`, or `overwrite`.
    /// - Throws: ``TransferError`` with `fileExists`, `noSpace` or `file`; the file is then at its old path.
    public func move(to path: String, ifExists existing: Destination.ExistingFileRule = .fail) throws(TransferError) {
        // Of two concurrent moves only one may succeed.
        let (error, hold): (StorageError?, CallOnce?) = self.place.withLock { place in
            do throws(StorageError) {
                try FileMover.move(place.path, to: path, replacing: existing == .overwrite)
                defer { place = Place(path: path, isOurs: false, hold: nil) }
                return (nil, place.hold)
            } catch {
                return (error, nil)
            }
        }
        withExtendedLifetime(hold) {}
        if let error { throw TransferError(TransferFailure(error)) }
    }
}

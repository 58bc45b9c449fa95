internal import FileStorage
internal import Synchronization
internal import TransferEngine

/// A finished download's file.
///
/// Where a destination was given the file is there, and stays. Otherwise it lies in a temporary place and belongs to those
/// who were told: it is deleted as soon as none of them holds this object any more, so at the latest when a completion
/// handler or a delegate's method that does not keep it returns. Whoever wants the file moves it by ``move(to:ifExists:)``
/// or takes it over by ``keep()`` before.
public final class DownloadedFile: Sendable {
    private struct Place {
        var path: String
        var isOurs: Bool
        /// In a background session: the event that tells of the file is not handled before somebody has taken it.
        var hold: EventHold?
    }

    /// The response's head; `nil` where none was asked for, because the file that was there has the expected digest.
    public let response: HTTPResponse?
    /// The file's length in bytes; 0 where nothing was written because nothing has changed (304).
    public let size: Int64
    /// Whether the server said that the caller's copy is still right (304); then nothing was written.
    public let isNotModified: Bool
    /// Whether the file existed already and is what the server has, as ``ExistingFileRule/keepIfSame`` allows.
    public let alreadyExisted: Bool

    private let place: Mutex<Place>

    init(
        path: String,
        isTemporary: Bool,
        response: HTTPResponse?,
        size: Int64,
        isNotModified: Bool,
        alreadyExisted: Bool,
        hold: EventHold? = nil
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

    /// Where the file is; empty where a conditional request without a destination brought none.
    public var path: String { self.place.withLock { $0.path } }

    /// Whether the file is deleted when this object goes away.
    public var isTemporary: Bool { self.place.withLock { $0.isOurs } }

    /// Takes the file over: it stays where it is, at ``path``, and is the caller's to delete.
    public func keep() {
        // Let go of outside the lock.
        let hold = self.place.withLock { place in
            place.isOurs = false
            defer { place.hold = nil }
            return place.hold
        }
        withExtendedLifetime(hold) {}
    }

    /// Moves the file; it is renamed where the two places are on one filesystem, else copied, synced and then named.
    ///
    /// Blocks for as long as a copy takes.
    ///
    /// - Parameters:
    ///   - path: The new path; its directory must exist.
    ///   - existing: What to do where it is taken: `fail`, or `overwrite`.
    /// - Throws: ``TransferError`` with `fileExists`, `noSpace` or `file`; the file then still lies where it was.
    public func move(to path: String, ifExists existing: ExistingFileRule = .fail) throws(TransferError) {
        // Two moves at once must not both think that they have it.
        let (error, hold): (StorageError?, EventHold?) = self.place.withLock { place in
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

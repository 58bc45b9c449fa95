import Synchronization
internal import TransferCore
import TransferEngine

/// Keeps the directories of recent files open, so that a file costs no walk along its path.
final class DirectoryCache: Sendable {
    private let handles = Mutex<[String: DirectoryHandle]>([:])
    private let limit: Int

    /// - Parameter limit: How many directories stay open; descriptors are scarce.
    init(limit: Int = 64) {
        self.limit = limit
    }

    /// The open directory; `nil` where it does not exist.
    func existing(_ path: String) throws(StorageError) -> DirectoryHandle? {
        if let handle = self.handles.withLock({ $0[path] }) { return handle }
        guard let handle = try DirectoryHandle.open(path, creating: false) else { return nil }
        return self.keep(handle, path)
    }

    /// The open directory, made with its parents where it does not exist.
    func making(_ path: String) throws(StorageError) -> DirectoryHandle {
        if let handle = self.handles.withLock({ $0[path] }) { return handle }
        guard let handle = try DirectoryHandle.open(path, creating: true) else {
            throw StorageError(.cannotCreateDirectory, "cannot create the directory '\(path)'; choose another")
        }
        return self.keep(handle, path)
    }

    /// Forgets a directory that was deleted meanwhile, so that the next call opens or makes it anew.
    func forget(_ path: String) {
        self.handles.withLock { _ = $0.removeValue(forKey: path) }
    }

    private func keep(_ handle: DirectoryHandle, _ path: String) -> DirectoryHandle {
        self.handles.withLock { handles in
            // Files in use hold their own reference, so that dropping them all closes nothing too early.
            if handles.count >= self.limit { handles.removeAll(keepingCapacity: true) }
            handles[path] = handle
        }
        return handle
    }
}

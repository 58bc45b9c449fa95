// SPDX-License-Identifier: Apache-2.0
import Synchronization
internal import TransferCore
import TransferEngine

/// Keeps recently used directories open, so that opening a file does not resolve its directory's path.
final class DirectoryCache: Sendable {
    private let handles = Mutex<[String: DirectoryHandle]>([:])
    private let limit: Int
    private let created = NewDirectories()

    /// - Parameter limit: The maximum number of open directories, because descriptors are limited.
    init(limit: Int = 64) {
        self.limit = limit
    }

    /// Returns the open directory, or `nil` if it does not exist.
    func existing(_ path: String) throws(StorageError) -> DirectoryHandle? {
        if let handle = self.handles.withLock({ $0[path] }) { return handle }
        guard let handle = try DirectoryHandle.open(path, creating: false, self.created) else { return nil }
        return self.keep(handle, path)
    }

    /// Returns the open directory; creates it and its parents if it does not exist.
    func making(_ path: String) throws(StorageError) -> DirectoryHandle {
        if let handle = self.handles.withLock({ $0[path] }) { return handle }
        guard let handle = try DirectoryHandle.open(path, creating: true, self.created) else {
            throw StorageError(.cannotCreateDirectory, "cannot create the directory '\(path)'; choose another")
        }
        return self.keep(handle, path)
    }

    /// Removes a deleted directory from the cache, so that the next call opens or creates it again.
    func forget(_ path: String) {
        self.handles.withLock { _ = $0.removeValue(forKey: path) }
    }

    private func keep(_ handle: DirectoryHandle, _ path: String) -> DirectoryHandle {
        self.handles.withLock { handles in
            // Files in use have their own references, so removing all handles closes no directory in use.
            if handles.count >= self.limit { handles.removeAll(keepingCapacity: true) }
            handles[path] = handle
        }
        return handle
    }
}

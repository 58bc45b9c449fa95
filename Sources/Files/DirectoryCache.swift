// SPDX-License-Identifier: Apache-2.0
import Synchronization
package import TransferCore

/// Keeps recently used directories open, so that opening a file does not resolve its directory's path.
package final class DirectoryCache: Sendable {
    private struct State {
        var handles: [String: DirectoryHandle] = [:]
        /// The last one found: the next file is nearly always for the same directory.
        var last: (path: String, handle: DirectoryHandle)?

        mutating func handle(_ path: String) -> DirectoryHandle? {
            if let last = self.last, last.path == path { return last.handle }
            guard let handle = self.handles[path] else { return nil }
            self.last = (path, handle)
            return handle
        }
    }

    private let state = Mutex(State())
    private let limit: Int
    private let created = NewDirectories()

    /// - Parameter limit: The maximum number of open directories, because descriptors are limited.
    package init(limit: Int = 64) {
        self.limit = limit
    }

    /// Returns the open directory, or `nil` if it does not exist.
    package func existing(_ path: String) throws(StorageError) -> DirectoryHandle? {
        if let handle = self.state.withLock({ $0.handle(path) }) { return handle }
        guard let handle = try DirectoryHandle.open(path, creating: false, self.created) else { return nil }
        return self.keep(handle, path)
    }

    /// Returns the open directory; creates it and its parents if it does not exist.
    package func making(_ path: String) throws(StorageError) -> DirectoryHandle {
        if let handle = self.state.withLock({ $0.handle(path) }) { return handle }
        guard let handle = try DirectoryHandle.open(path, creating: true, self.created) else {
            throw StorageError(.cannotCreateDirectory, "cannot create the directory '\(path)'; choose another")
        }
        return self.keep(handle, path)
    }

    /// Removes a deleted directory from the cache, so that the next call opens or creates it again.
    package func forget(_ path: String) {
        self.state.withLock { state in
            state.handles[path] = nil
            state.last = nil
        }
        // Another process may create it again.
        self.created.forgetDurable()
    }

    private func keep(_ handle: DirectoryHandle, _ path: String) -> DirectoryHandle {
        self.state.withLock { state in
            // Files in use have their own references, so removing all handles closes no directory in use.
            if state.handles.count >= self.limit { state.handles.removeAll(keepingCapacity: true) }
            state.handles[path] = handle
            state.last = (path, handle)
        }
        return handle
    }
}

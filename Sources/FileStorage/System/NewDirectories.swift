// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TransferCore

/// The directories in which directories were created whose names are not durable yet.
///
/// All directories of a store share one, and it does not end with them: an attempt can create a directory and then fail,
/// so that a later file finds it, without knowing that its name was never synced.
final class NewDirectories: Sendable {
    /// The number above which they are synced without being asked, so that a long run does not collect them.
    private static let most = 512

    private let parents = Mutex<[String]>([])

    /// A directory was created in `parent`.
    ///
    /// - Throws: `StorageError` as ``sync()``.
    func wasCreated(in parent: String) throws(StorageError) {
        let isFull = self.parents.withLock { parents in
            if !parents.contains(parent) { parents.append(parent) }
            return parents.count > Self.most
        }
        if isFull { try self.sync() }
    }

    /// Makes the names of all created directories durable.
    ///
    /// - Throws: `StorageError`; then the next call tries again what was not synced.
    func sync() throws(StorageError) {
        // Held during the sync: concurrent callers depend on its completion.
        try self.parents.withLock { (parents) throws(StorageError) in
            while let parent = parents.first {
                if let descriptor = try DirectoryHandle.openExisting(parent) {
                    try DirectoryHandle.sync(descriptor, parent)
                }
                parents.removeFirst()
            }
        }
    }
}

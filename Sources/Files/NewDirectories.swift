// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization
package import TransferCore

/// The directories whose names may not be durable yet.
///
/// All directories of a store share one, and it does not end with them: an attempt can create a directory and then fail,
/// so that a later file finds it, without knowing that its name was never synced. So can a process that was killed:
/// the names of a directory that is synced, and of its parents, are made durable once, whoever has created them.
package final class NewDirectories: Sendable {
    private struct State {
        /// The directories in which directories were created.
        var parents: [String] = []
        /// Directories whose names, and those of their parents, are durable.
        var durable: Set<String> = []
    }

    /// The number above which parents are synced without being asked, so that a long run does not collect them.
    private static let most = 512
    /// The number of durable names that are remembered.
    private static let mostDurable = 4096

    private let state = Mutex(State())

    /// A directory was created in `parent`.
    ///
    /// - Throws: `StorageError` as ``sync(for:)``.
    func wasCreated(in parent: String) throws(StorageError) {
        let isFull = self.state.withLock { state in
            if !state.parents.contains(parent) { state.parents.append(parent) }
            return state.parents.count > Self.most
        }
        if isFull { try self.sync(for: nil) }
    }

    /// Makes the names of all created directories durable, and those of a directory and its parents.
    ///
    /// - Parameter directory: The directory; `nil` for the created ones alone.
    /// - Throws: `StorageError`; then the next call tries again what was not synced.
    package func sync(for directory: String?) throws(StorageError) {
        // Held during the sync: concurrent callers depend on its completion.
        try self.state.withLock { (state) throws(StorageError) in
            var names: [String] = []
            if let directory, !state.durable.contains(directory) {
                for (name, parent) in Self.chain(directory) where !state.durable.contains(name) {
                    names.append(name)
                    // Where this process may not write, no other one of its user has created a name.
                    guard FileCalls.access(parent, W_OK) == 0, !state.parents.contains(parent) else { continue }
                    state.parents.append(parent)
                }
                names.append(directory)
            }
            while let parent = state.parents.first {
                if let descriptor = try DirectoryHandle.openExisting(parent) {
                    try DirectoryHandle.sync(descriptor, parent)
                }
                state.parents.removeFirst()
            }
            if state.durable.count + names.count > Self.mostDurable { state.durable = [] }
            state.durable.formUnion(names)
        }
    }

    /// Forgets which names are durable: a directory was deleted.
    func forgetDurable() { self.state.withLock { $0.durable = [] } }

    /// The path of each directory of a path with its parent's, from the first component to the last.
    private static func chain(_ path: String) -> [(name: String, parent: String)] {
        var chain: [(name: String, parent: String)] = []
        var name = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") where component != "." {
            let parent = name.isEmpty ? "." : name
            name += (name.isEmpty || name.hasSuffix("/") ? "" : "/") + component
            chain.append((name, parent))
        }
        return chain
    }
}

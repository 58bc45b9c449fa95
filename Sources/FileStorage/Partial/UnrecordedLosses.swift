// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The journals in which a failed sync could not be recorded, as on a file system that has become read-only.
///
/// What such a journal says of bytes that were not durable is not true: the kernel may have given them up, although reads
/// show them, and the next sync says nothing of it (fsync(2)).
final class UnrecordedLosses: Sendable {
    private let paths = Mutex<Set<String>>([])

    /// A sync failed, and the journal at a path could neither be changed nor deleted.
    func note(_ path: String) { self.paths.withLock { _ = $0.insert(path) } }

    /// Whether only what is durable by the journal at a path may be believed.
    func contains(_ path: String) -> Bool { self.paths.withLock { $0.contains(path) } }

    /// The journal at a path has been written again, or is a new one.
    func forget(_ path: String) { self.paths.withLock { _ = $0.remove(path) } }

    /// The journal has a new path.
    func move(_ path: String, to new: String) {
        self.paths.withLock { paths in
            if paths.remove(path) != nil { paths.insert(new) } else { paths.remove(new) }
        }
    }
}

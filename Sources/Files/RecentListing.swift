// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization
package import TransferCore

/// A recent listing of a directory, so that looking up missing names costs no system call.
///
/// It can only state that a name was missing a moment ago. Names that other processes have created since are detected
/// when it matters: files are created with O_EXCL, and the calls that name them refuse existing names.
package final class RecentListing: Sendable {
    private struct State {
        var names = HashSet()
        var listedAt: Int64?
        var isUseless = false
    }

    private let state = Mutex(State())

    /// Whether a name did not exist at the last listing, nor was created by this process since.
    package func lacks(_ name: String, in directory: DirectoryHandle) -> Bool {
        self.lacks(in: directory) { !$0.contains(NameHash.of(name)) }
    }

    /// Whether names are missing, by their hashes (``NameHash``).
    ///
    /// - Parameters:
    ///   - directory: The directory of this listing.
    ///   - areMissing: Whether a set of the hashes of all names lacks those in question.
    /// - Returns: False if it is unknown.
    package func lacks(in directory: DirectoryHandle, _ areMissing: (HashSet) -> Bool) -> Bool {
        let now = Self.now
        return self.state.withLock { state in
            if state.isUseless { return false }
            if state.listedAt.map({ now - $0 > Self.trust }) ?? true {
                switch Self.list(directory) {
                case .names(let listed):
                    state.names = listed
                    state.listedAt = now
                case .tooLarge:
                    state.isUseless = true
                    state.names = HashSet()
                    return false
                case .unreadable:
                    // It may be readable later, for example when descriptors are available again.
                    state.names = HashSet()
                    state.listedAt = nil
                    return false
                }
            }
            return areMissing(state.names)
        }
    }

    /// Records a name created by this process.
    ///
    /// Names before the first listing are not recorded, because it will contain them; so an unused listing needs no
    /// memory.
    package func note(_ name: String) {
        let hash = NameHash.of(name)
        self.state.withLock { if !$0.isUseless, $0.listedAt != nil { _ = $0.names.insert(hash) } }
    }

    /// The time for which a listing is trusted, in nanoseconds.
    private static let trust: Int64 = 2_000_000_000
    /// The maximum number of entries; in larger directories names are looked up one by one, which costs less.
    private static let limit = 50_000

    private static var now: Int64 { FileCalls.nanoseconds(of: ClockNumber.coarse) }

    private enum Listing {
        case names(HashSet)
        case tooLarge
        /// It cannot be listed completely: no name may count as missing.
        case unreadable
    }

    private static func list(_ directory: DirectoryHandle) -> Listing {
        let raw = FileCalls.openat(directory.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { return .unreadable }
        guard let entries = DirectoryEntries(raw) else { return .unreadable }
        var names = HashSet()
        while let hash = entries.next({ NameHash.of($0) }) {
            guard names.count < self.limit else { return .tooLarge }
            _ = names.insert(hash)
        }
        guard errno == 0 else { return .unreadable }
        return .names(names)
    }
}

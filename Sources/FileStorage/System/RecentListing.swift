import Glibc
import Synchronization

/// The names in one directory as they were a moment ago, so that looking for names that are not there costs no
/// system call.
///
/// It only ever answers "surely not there, a moment ago". What somebody else made since is caught where it matters:
/// nothing is created but with O_EXCL or named but by calls that refuse a name that is taken.
final class RecentListing: Sendable {
    private struct State {
        var names: Set<UInt64> = []
        var listedAt: Int64?
        var isUseless = false
    }

    private let state = Mutex(State())

    /// Whether none of the names was there when the directory was last listed, or has been made by us since.
    func lacks(_ names: [String], in directory: DirectoryHandle) -> Bool {
        let hashes = names.map(Self.hash)
        let now = Self.now
        return self.state.withLock { state in
            if state.isUseless { return false }
            if state.listedAt.map({ now - $0 > Self.trust }) ?? true {
                guard let listed = Self.list(directory) else {
                    state.isUseless = true
                    state.names = []
                    return false
                }
                state.names = listed
                state.listedAt = now
            }
            return hashes.allSatisfy { !state.names.contains($0) }
        }
    }

    /// We made a name.
    ///
    /// Before the first listing it need not be kept, for that will have it: a handle that is never asked keeps no names.
    func note(_ name: String) {
        let hash = Self.hash(name)
        self.state.withLock { if !$0.isUseless, $0.listedAt != nil { _ = $0.names.insert(hash) } }
    }

    /// How long a listing is believed, in nanoseconds.
    private static let trust: Int64 = 2_000_000_000
    /// A directory with more entries is asked name by name: listing it would cost more.
    private static let limit = 50_000

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func list(_ directory: DirectoryHandle) -> Set<UInt64>? {
        let raw = openat(directory.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { return nil }
        guard let stream = fdopendir(raw) else {
            close(raw)
            return nil
        }
        defer { closedir(stream) }
        var names: Set<UInt64> = []
        while let entry = readdir(stream) {
            guard names.count < self.limit else { return nil }
            let hash = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                self.hash(bytes.prefix { $0 != 0 })
            }
            names.insert(hash)
        }
        return names
    }

    private static func hash(_ name: String) -> UInt64 { self.hash(name.utf8) }

    /// FNV-1a.
    ///
    /// Two names with one hash cost a needless look, nothing more.
    private static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }
}

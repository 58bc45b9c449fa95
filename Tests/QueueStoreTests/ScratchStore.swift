// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Synchronization

@testable import QueueStore

/// A separate directory with a queue's database, and common test operations on it.
final class ScratchStore: Sendable {
    let directory: String
    let store: QueueStore
    /// Those that the store passed to its handler of removed transfers.
    let removed = Mutex<[GID]>([])
    var path: String { self.directory + "/queue.db" }

    init(longestGroup: Duration = .milliseconds(100)) throws {
        self.directory = try Self.makeDirectory()
        self.store = try QueueStore(path: self.directory + "/queue.db", longestGroup: longestGroup)
    }

    /// Opens what is in a directory, which goes with this.
    init(directory: String) throws {
        self.directory = directory
        self.store = try QueueStore(path: directory + "/queue.db")
    }

    /// Handles removed transfers from now on.
    func handleRemoved() {
        self.store.onRemoved { [weak self] transfers, _ in
            self?.removed.withLock { $0 += transfers.map(\.id) }
        }
    }

    deinit { Self.remove(self.directory) }

    static func makeDirectory() throws -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/queue-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw QueueStoreError(.inputOutput, "mkdtemp: \(errno)") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func remove(_ directory: String) {
        for name in ["", "-wal", "-shm", "-state"].map({ "queue.db" + $0 }) { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    /// A directory with the files as a kill leaves them at this moment.
    func killed() throws -> String {
        let copy = try Self.makeDirectory()
        for suffix in ["-state", "", "-wal"] { try Self.copy(self.path + suffix, copy + "/queue.db" + suffix) }
        return copy
    }

    /// Copies a file that may be missing.
    static func copy(_ source: String, _ target: String) throws {
        let from = open(source, O_RDONLY | O_CLOEXEC)
        guard from >= 0 else { return }
        defer { close(from) }
        let to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard to >= 0 else { throw QueueStoreError(.inputOutput, "\(target): \(errno)") }
        defer { close(to) }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(from, &buffer, buffer.count)
            guard count > 0 else { break }
            guard write(to, buffer, count) == count else { throw QueueStoreError(.inputOutput, "\(target): \(errno)") }
        }
    }

    func add(_ transfers: [StoredTransfer], at place: Int? = nil) async throws {
        try await self.store.write { (writer) throws(QueueStoreError) in try writer.add(transfers, at: place) }
    }

    func end(_ id: GID, _ state: TransferRecord.State = .finished, at time: Double = 2000) async throws {
        let end = StoredEnd(id: id, state: state, path: nil, bytes: 1, total: 1, at: time)
        try await self.store.write { (writer) throws(QueueStoreError) in _ = try writer.end([end]) }
    }

    func ids(
        _ states: Set<TransferRecord.State> = Set(TransferRecord.State.allCases),
        session: String?? = .some(nil),
        offset: Int = 0,
        limit: Int = 10_000,
        fromEnd: Bool = false
    ) async throws -> [GID] {
        try await self.store.read { (reader) throws(QueueStoreError) in
            try reader.transfers(in: states, session: session, offset: offset, limit: limit, fromEnd: fromEnd)
                .map(\.id)
        }
    }

    /// Why `body` failed, or `nil` where it did not.
    func code(
        _ body: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> Void
    ) async -> QueueStoreError.Code? {
        do throws(QueueStoreError) {
            try await self.store.write(body)
            return nil
        } catch { return error.code }
    }
}

func gid(_ number: UInt64) -> GID { GID(rawValue: number) ?? .random() }

func transfer(_ number: UInt64, session: String? = nil) -> StoredTransfer {
    StoredTransfer(
        id: gid(number),
        session: session,
        urls: ["http://host.example/\(number)"],
        directory: "/data",
        added: 1000
    )
}

func transfers(_ numbers: some Sequence<Int>, session: String? = nil) -> [StoredTransfer] {
    numbers.map { transfer(UInt64($0), session: session) }
}

/// SplitMix64: the same walk for the same seed.
struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// A gate that resumes its waiters once it is opened.
final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func open() {
        let waiting = self.state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = self.state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// Something that happens once.
final class Flag: Sendable {
    private let state = Atomic(false)
    var isRaised: Bool { self.state.load(ordering: .relaxed) }
    func raise() { self.state.store(true, ordering: .relaxed) }
}

// SPDX-License-Identifier: Apache-2.0
package import Concurrency
internal import Files
internal import Platform
internal import Synchronization
package import TransferCore

/// Writes samples into tar files that WebDataset reads: `00000.tar` and so on in one directory.
///
/// Samples are appended in the order of the calls to one shard, until it is full. A full shard is synced, renamed and
/// reported on a separate thread, while the next shard is filled. All methods may block for long, and may be called by
/// several threads.
///
/// After a failed write (``StorageError/Code/noSpace``, for example) the sample is in no shard, and the same call can be
/// repeated. After a failed sync it is unknown which bytes are durable: every later call throws the same error, and a new
/// writer removes the shard, whose rows are in no report.
package final class ShardWriter: Sendable {
    private struct State {
        var machine: ShardMachine
        /// The file of the shard that is filled.
        var file: ShardFile?
        /// The file of the shard that is being closed, until it is synced.
        var sealed: FileDescriptor?
        /// Whether the last step of closing failed.
        var isStalled = false
        /// The failure of a sync.
        var failure: StorageError?
    }

    /// The remains of a killed run.
    package let leftovers: ShardLeftovers
    private let directory: ShardDirectory
    private let report: @Sendable (ClosedShard) throws(StorageError) -> Void
    private let state: Mutex<State>
    /// Held by the thread that performs the steps of closing.
    private let closing = Mutex<Void>(())
    private let closer: any SerialWorker
    private let clock: @Sendable () -> Int64

    /// Locks a directory, creates it if it is missing, and removes what a killed program has left.
    ///
    /// Incomplete shards are deleted. One complete shard that no report of the directory names is renamed to
    /// `NNNNN.tar.unreported`; it was completed just before a program was killed. Files with other names are never
    /// touched. Samples at the end of the report's last shard that it does not name are removed. The report is listed in the directory, so that later runs with other reports keep its shards.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - limits: When a shard is full.
    ///   - owner: The report; numbering continues after the shards that it and the other reports of the directory name.
    ///   - closer: The thread that closes full shards.
    ///   - clock: A monotonic time in nanoseconds.
    ///   - report: Called with each shard that is complete and durable, in order, one call at a time, on any thread.
    ///     It must make the rows durable in the report before it returns: then the next shard gets its name. If it throws,
    ///     it is called again later. It must not wait for a lock that a caller of this writer holds.
    /// - Throws: ``StorageError``: `.cannotOpen` if another process writes shards into the directory, `.exists` if it has
    ///   shards that may be those of an unknown report, or the error of the system.
    package init(
        directory path: String,
        limits: ShardLimits,
        owner: ShardReport,
        closer: any SerialWorker = DispatchWorker("martlet.shards.closing"),
        clock: @escaping @Sendable () -> Int64 = { FileCalls.nanoseconds(of: CLOCK_MONOTONIC) },
        report: @escaping @Sendable (ClosedShard) throws(StorageError) -> Void
    ) throws(StorageError) {
        self.directory = try ShardDirectory(path)
        self.report = report
        self.closer = closer
        self.clock = clock
        let (next, leftovers) = try self.directory.prepare(owner)
        self.leftovers = leftovers
        self.state = Mutex(State(machine: ShardMachine(limits: limits, next: next)))
    }

    /// Appends a sample to a shard.
    ///
    /// - Parameters:
    ///   - sample: The sample.
    ///   - placed: Called with the position of the content, before the shard can be closed by this call.
    /// - Returns: The position of its content, which is valid when the shard is reported.
    /// - Throws: ``StorageError``: the sample is in no shard then. It may also be the error of closing an earlier shard.
    @discardableResult
    package func append(
        _ sample: DatasetSample,
        placed: (ShardPlace) -> Void = { _ in }
    ) throws(StorageError) -> ShardPlace {
        let draft = try SampleDraft(sample)
        let now = self.clock()
        if self.state.withLock({ $0.isStalled }) { try self.close() }
        while true {
            let place = try self.state.withLock { (state) throws(StorageError) in
                try self.place(draft, now, &state)
            }
            if let place {
                placed(place)
                self.closeIfFull()
                return place
            }
            // Another shard is being closed: this one can be ended only after it.
            try self.close()
        }
    }

    /// Ends the shard that is filled if nothing was added to it for the time of ``ShardLimits/idle``; returns when its rows
    /// are reported.
    ///
    /// - Returns: The time after which to call this again, in nanoseconds; `nil` after the next sample.
    /// - Throws: ``StorageError``, as ``append(_:placed:)``.
    package func closeIfIdle() throws(StorageError) -> Int64? {
        let now = self.clock()
        switch self.state.withLock({ $0.machine.idleness(at: now) }) {
        case .none: return nil
        case .until(let time): return max(1, time - now)
        case .due: break
        }
        // Another shard may be being closed.
        try self.close()
        try self.state.withLock { (state) throws(StorageError) in
            // Another thread may have added a sample.
            if state.machine.idleness(at: now) == .due, state.machine.ending == .seal { try Self.seal(&state) }
        }
        try self.close()
        let end = self.clock()
        guard case .until(let time) = self.state.withLock({ $0.machine.idleness(at: end) }) else { return nil }
        return max(1, time - end)
    }

    /// Ends the last shard; returns when all rows are reported.
    ///
    /// - Throws: ``StorageError``; it can be called again.
    package func finish() throws(StorageError) {
        repeat {
            try self.close()
            try self.state.withLock { (state) throws(StorageError) in
                if state.machine.ending == .seal { try Self.seal(&state) }
            }
        } while self.state.withLock { $0.machine.isClosing || $0.machine.ending != nil }
        let empty = self.state.withLock { state in
            state.file == nil ? nil : state.machine.emptyPart
        }
        // Of a sample that failed.
        if let empty { try self.directory.handle.unlink(empty) }
    }

    // MARK: Filling

    /// Appends a sample; returns `nil` if the shard that is being closed must be completed first.
    private func place(
        _ draft: SampleDraft,
        _ now: Int64,
        _ state: inout State
    ) throws(StorageError) -> ShardPlace? {
        if let failure = state.failure { throw failure }
        while true {
            let members = draft.members(state.machine)
            switch state.machine.admission(of: members.size) {
            case .create(let name):
                state.file = try self.directory.create(name)
                state.machine.created()
            case .seal:
                try Self.seal(&state)
                self.startClosing()
            case .waitForClosing: return nil
            case .append:
                let offset = state.machine.size + members.contentOffset
                try state.file?.append(members, draft.content)
                state.machine.appended(draft.row, named: members.name, size: members.size, at: now)
                return ShardPlace(shard: state.machine.name, offset: offset)
            }
        }
    }

    private static func seal(_ state: inout State) throws(StorageError) {
        guard let size = try state.file?.seal() else { return }
        state.sealed = state.file?.descriptor
        state.file = nil
        state.machine.sealed(size: size)
    }

    /// Begins to close a shard that is full, so that its rows are reported early.
    ///
    /// A failure occurs again, and is thrown, at the next call.
    private func closeIfFull() {
        let isSealed = self.state.withLock { state in
            guard state.machine.isFull, state.machine.ending == .seal else { return false }
            do throws(StorageError) {
                try Self.seal(&state)
                return true
            } catch {
                return false
            }
        }
        if isSealed { self.startClosing() }
    }

    // MARK: Closing

    private func startClosing() { self.closer.perform { try? self.close() } }

    /// Performs the remaining steps of the shard that is being closed, or waits for the thread that does.
    private func close() throws(StorageError) {
        try self.closing.withLock { (_) throws(StorageError) in
            while let step = try self.nextStep() {
                do throws(StorageError) {
                    try self.perform(step)
                } catch {
                    self.state.withLock { $0.isStalled = true }
                    throw error
                }
                self.state.withLock {
                    $0.machine.performed()
                    $0.isStalled = false
                }
            }
        }
    }

    private func nextStep() throws(StorageError) -> ShardMachine.Step? {
        try self.state.withLock { (state) throws(StorageError) in
            if let failure = state.failure { throw failure }
            return state.machine.step
        }
    }

    private func perform(_ step: ShardMachine.Step) throws(StorageError) {
        let handle = self.directory.handle
        switch step {
        case .sync(let name): try self.sync(handle.path(name))
        case .rename(let old, let new):
            let number = handle.rename(old, to: handle, new, replacing: false)
            if number != 0 {
                throw StorageError(errno: number, otherwise: .cannotCreate, "cannot create", handle.path(new))
            }
        case .syncDirectory: try handle.sync()
        case .report(let shard): try self.report(shard)
        }
    }

    private func sync(_ path: String) throws(StorageError) {
        guard let file = self.state.withLock({ $0.sealed }) else { return }
        var number = file.sync()
        // A network file system may report a failed write only now.
        let closed = file.close()
        if number == 0 { number = closed }
        self.state.withLock { $0.sealed = nil }
        guard number != 0 else { return }
        // The kernel may have dropped the pages: a second sync would succeed without them.
        let failure = StorageError(
            errno: number,
            otherwise: .inputOutput,
            "cannot sync (its rows are not in the report, and are fetched again by the next run)",
            path
        )
        self.state.withLock { $0.failure = failure }
        throw failure
    }
}

/// A sample whose name in the shard is not chosen yet.
private struct SampleDraft {
    let row: Int64
    let content: SampleContent
    private let encoded: String
    private let ending: String
    private let text: [UInt8]

    init(_ sample: DatasetSample) throws(StorageError) {
        self.row = sample.row.number
        self.content = sample.content
        self.encoded = SampleKey.encode(sample.row.key)
        self.ending = SampleExtension.choose(
            name: sample.row.name,
            url: sample.row.url,
            mediaType: sample.mediaType,
            head: try sample.content.head()
        )
        self.text = sample.rowText
    }

    func members(_ machine: ShardMachine) -> SampleMembers {
        SampleMembers(
            name: machine.sampleName(self.encoded, row: self.row),
            ending: self.ending,
            length: self.content.length,
            row: self.text
        )
    }
}

extension SampleContent {
    /// The first bytes, for ``ContentSignature``.
    func head() throws(StorageError) -> [UInt8] {
        switch self {
        case .bytes(let bytes): return Array(bytes.prefix(ContentSignature.length))
        case .file(let file, let length):
            var head = [UInt8](repeating: 0, count: Int(min(length, Int64(ContentSignature.length))))
            let count = head.withUnsafeMutableBytes { file.read(into: $0, at: 0) }
            guard count >= 0 else {
                throw StorageError(errno: Int32(-count), otherwise: .inputOutput, "cannot read", "the content")
            }
            return Array(head.prefix(count))
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferTesting

/// The faults of the disk of a daemon's world: of its database, of its downloads, and of all of it.
struct DaemonFaults {
    /// A time in which the database's file system is full or fails.
    private struct Trouble {
        var time: Range<Int64>
        var errno: Int32
    }

    /// Calls for downloads that fail one after another.
    private struct Fault {
        var number: Int
        var repeats: Int
        var errno: Int32
        var isOfChanges: Bool
    }

    /// A time in which the file system has no more space, or is read-only.
    private struct Limit {
        var time: Range<Int64>
        /// The number of bytes that it takes from the beginning on; `nil` if it is read-only.
        var space: Int64?
    }

    private var troubles: [Trouble] = []
    private var faults: [Fault] = []
    private var limits: [Limit] = []
    private var calls = 0
    private var changes = 0
    /// The errors that calls for downloads got.
    private(set) var met: Set<Int32> = []
    /// Whether a call of the database has failed, or could.
    private(set) var hasDatabaseTrouble = false
    /// Whether calls for downloads could fail.
    var hasFileTrouble: Bool { !self.met.isEmpty || !self.limits.isEmpty }
    /// Whether an error was met for which a transfer does not wait.
    var excusesFailures: Bool { !self.met.isDisjoint(with: [EIO, EACCES, ENOMEM]) }

    init(_ recipe: inout Recipe) {
        let start = Int64(recipe.draw(0...2000)) * 1_000_000
        let length = Int64(recipe.draw(1...10_000)) * 1_000_000
        let (number, name): (Int32, String) = recipe.pick([
            (ENOSPC, "full"), (ENOSPC, "full"), (EIO, "failing"), (EROFS, "read-only"),
            (EMFILE, "without descriptors"),
        ])
        let span = "from \(start / 1_000_000) ms for \(length / 1_000_000) ms"
        if recipe.has(oneIn: 8, "the disk of the database is \(name) \(span)") {
            self.troubles.append(Trouble(time: start..<start + length, errno: number))
        }
        let (call, isOfChanges) = (recipe.draw(1...80), recipe.draw(0...1) == 0)
        let repeats = recipe.pick([1, 1, 1, 3, 200])
        let error: (Int32, String) = recipe.pick([
            (EIO, "EIO"), (ENOSPC, "ENOSPC"), (EROFS, "EROFS"), (EMFILE, "EMFILE"), (EACCES, "EACCES"),
            (EDQUOT, "EDQUOT"), (ENOMEM, "ENOMEM"),
        ])
        let text = "\(isOfChanges ? "changing " : "")call \(call) for downloads fails with \(error.1), \(repeats) times"
        if recipe.has(oneIn: 10, text) {
            self.faults.append(Fault(number: call, repeats: repeats, errno: error.0, isOfChanges: isOfChanges))
        }
        let space = Int64(recipe.draw(0...300)) << 10
        let isReadOnly = recipe.draw(0...2) == 0
        let beginning = Int64(recipe.draw(0...2500)) * 1_000_000
        let end = beginning + Int64(recipe.pick([recipe.draw(1...20), recipe.draw(20...900)])) * 1_000_000_000
        let state = isReadOnly ? "is read-only" : "takes \(space) more bytes"
        if recipe.has(
            oneIn: 10,
            "the file system \(state) from \(beginning / 1_000_000) ms until \(end / 1_000_000) ms"
        ) {
            self.limits.append(Limit(time: beginning..<end, space: isReadOnly ? nil : space))
            self.hasDatabaseTrouble = true
        }
    }

    /// Limits the file system at its times.
    func start(_ scheduler: Scheduler, _ disk: SimulatedDisk, _ trace: Trace) {
        for limit in self.limits {
            scheduler.schedule(after: limit.time.lowerBound) {
                trace.add("world", "the file system is \(limit.space == nil ? "read-only" : "almost full")")
                if let space = limit.space { disk.capacity = disk.used + space } else { disk.isReadOnly = true }
            }
            scheduler.schedule(after: limit.time.upperBound) {
                trace.add("world", "the file system can be written again")
                (disk.capacity, disk.isReadOnly) = (1 << 40, false)
            }
        }
    }

    /// Whether the database could fail at a time in a span.
    func mayFail(in span: ClosedRange<Int64>) -> Bool {
        (self.troubles.map(\.time) + self.limits.map(\.time)).contains { $0.overlaps(span) }
    }

    /// Decides about a call of a living process.
    mutating func fault(_ call: DiskCall, at time: Int64) -> DiskFault {
        if call.path.hasPrefix(WorldDaemon.state) { return self.databaseFault(call, at: time) }
        guard call.path.hasPrefix(WorldDaemon.downloads) else { return .none }
        self.calls += 1
        if call.changes { self.changes += 1 }
        for fault in self.faults where call.changes || !fault.isOfChanges {
            let number = fault.isOfChanges ? self.changes : self.calls
            guard (fault.number..<fault.number + fault.repeats).contains(number) else { continue }
            if fault.errno == EMFILE, !call.name.hasPrefix("open") { continue }
            self.met.insert(fault.errno)
            return .error(fault.errno)
        }
        return .none
    }

    private mutating func databaseFault(_ call: DiskCall, at time: Int64) -> DiskFault {
        for trouble in self.troubles where trouble.time.contains(time) {
            switch trouble.errno {
            case EMFILE: guard call.name.hasPrefix("open") else { continue }
            // It syncs what it has.
            case EROFS: guard call.changes, !call.isSync else { continue }
            // A full disk syncs what it has, and deletes.
            case ENOSPC:
                guard call.changes, !call.isSync, !call.name.hasPrefix("unlink") else { continue }
            default: guard call.changes else { continue }
            }
            self.hasDatabaseTrouble = true
            return .error(trouble.errno)
        }
        return .none
    }
}

// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferTesting

/// The faults of the disk of a world.
final class DiskFaults {
    private struct Fault {
        var number: Int
        var repeats: Int
        var errno: Int32
        /// Whether it hits calls that change something, or all.
        var isOfChanges: Bool
    }

    /// The errors that calls got.
    private(set) var met: Set<Int32> = []
    private var faults: [Fault] = []
    private var failingSync = 0
    private var failingOpen = 0
    private var opens = 0
    private var syncs = 0
    private var calls = 0
    private var changes = 0
    /// Whether a sync failed, and then what would have told the next process of it, and what would have deleted the file;
    /// or whether the process was killed before it could do either.
    private(set) var hidesLosses = false
    /// The process whose newest change was a sync that failed.
    private var toldOfLosses: Int?
    /// Whether the file system was full or read-only for some time.
    private(set) var wasLimited = false

    init(_ recipe: inout Recipe, disk: SimulatedDisk, scheduler: Scheduler, isRare: Bool) {
        for _ in 0..<2 {
            let number = recipe.draw(1...80)
            let repeats = recipe.pick([1, 1, 1, 3, 1000])
            let isOfChanges = recipe.draw(0...1) == 0
            let error: (Int32, String) = recipe.pick([
                (EIO, "EIO"), (ENOSPC, "ENOSPC"), (EROFS, "EROFS"), (EMFILE, "EMFILE"), (ENFILE, "ENFILE"),
                (EINTR, "EINTR"), (EACCES, "EACCES"), (EDQUOT, "EDQUOT"), (ENOMEM, "ENOMEM"),
            ])
            let text =
                "\(isOfChanges ? "changing " : "")file system call \(number) fails with \(error.1), \(repeats) times"
            if recipe.has(oneIn: isRare ? 30 : 15, text) {
                self.faults.append(
                    Fault(number: number, repeats: repeats, errno: error.0, isOfChanges: isOfChanges)
                )
            }
        }
        let open = recipe.draw(1...12)
        if recipe.has(oneIn: 12, "opening \(open) of a file fails with EMFILE") { self.failingOpen = open }
        let sync = recipe.draw(1...4)
        if recipe.has(oneIn: 20, "sync \(sync) fails with EIO") { self.failingSync = sync }
        let capacity = Int64(recipe.draw(50...900)) << 10
        let time = Int64(recipe.draw(1...300)) * 1_000_000_000
        if recipe.has(oneIn: 25, "the file system has \(capacity) bytes, until after \(time / 1_000_000_000) s") {
            self.wasLimited = true
            disk.capacity = capacity
            scheduler.schedule(after: time) { disk.capacity = 1 << 40 }
        }
        let start = Int64(recipe.draw(0...1000)) * 1_000_000
        if recipe.has(
            oneIn: 40,
            "the file system is read-only from \(start / 1_000_000) ms, for \(time / 1_000_000_000) s"
        ) {
            self.wasLimited = true
            scheduler.schedule(after: start) { disk.isReadOnly = true }
            scheduler.schedule(after: start + time) { disk.isReadOnly = false }
        }
        if recipe.has(oneIn: 10, "the file system has no unnamed files") { disk.features.unnamedFiles = false }
        if recipe.has(oneIn: 10, "the file system has no extended attributes") { disk.features.attributes = false }
        if recipe.has(oneIn: 10, "the file system cannot rename without replacing") {
            disk.features.renameWithoutReplacing = false
        }
        if recipe.has(oneIn: 10, "the file system reserves no space") { disk.features.allocation = false }
        if recipe.has(oneIn: 6, "unsynced changes of names survive in any order") { disk.order = .independent }
        if recipe.has(oneIn: 10, "the file system has no locks") { disk.features.locks = false }
    }

    /// Whether calls of any kind fail, one after another.
    var hasCallFaults: Bool { !self.faults.isEmpty || self.failingOpen > 0 }
    /// Whether descriptors were missing, and nothing else failed: that says nothing about any file.
    var isOnlyShortage: Bool { self.faults.isEmpty && !self.wasLimited && self.failingSync == 0 }
    var hasFailingSync: Bool { self.failingSync > 0 }
    var hasFaults: Bool { !self.faults.isEmpty || self.failingOpen > 0 || self.wasLimited || self.failingSync > 0 }

    func fault(_ call: DiskCall) -> DiskFault {
        if let told = self.toldOfLosses, told != call.process { self.hidesLosses = true }
        let fault = self.decide(call)
        if case .error = fault, call.isSync {
            self.toldOfLosses = call.process
        } else if call.changes || self.toldOfLosses != call.process {
            self.toldOfLosses = nil
        }
        return fault
    }

    private func decide(_ call: DiskCall) -> DiskFault {
        self.calls += 1
        if call.changes { self.changes += 1 }
        if self.failingSync > 0, call.isSync {
            self.syncs += 1
            if self.syncs == self.failingSync {
                self.met.insert(EIO)
                return .error(EIO)
            }
        }
        if self.failingOpen > 0, call.name.hasPrefix("open") {
            self.opens += 1
            if self.opens == self.failingOpen {
                self.met.insert(EMFILE)
                return .error(EMFILE)
            }
        }
        for fault in self.faults {
            let number = fault.isOfChanges ? self.changes : self.calls
            if fault.isOfChanges && !call.changes { continue }
            if number >= fault.number, number < fault.number + fault.repeats {
                self.met.insert(fault.errno)
                if call.isSync, number + 2 < fault.number + fault.repeats { self.hidesLosses = true }
                return .error(fault.errno)
            }
        }
        return .none
    }
}

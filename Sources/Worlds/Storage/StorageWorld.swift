// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Files
import Platform
import TransferCore
import TransferEngine

/// A world of one store: random operations on partial and small files, with a crash at any system call.
package enum StorageWorld: World {
    package static let kind = "storage"

    package static func run(_ recipe: inout Recipe, _ trace: Trace) -> WorldEnd {
        let life = StorageLife(&recipe, trace)
        life.live()
        recipe = life.recipe
        return life.end
    }
}

/// The processes of a storage world, one after another, and the judge.
final class StorageLife {
    static let directory = "/data/d"
    static let names = ["f", "g"]

    let disk: SimulatedDisk
    let trace: Trace
    var recipe: Recipe
    /// Draws what an operation does, so that others stay as they are without it.
    var chance: Recipe
    var end = WorldEnd()
    var models: [String: StorageModel] = [:]
    /// The files of others, by path.
    var others: [String: [UInt8]] = [:]
    var store: DiskStore
    var process = 1
    var open: (name: String, file: any PartialFile)?
    private(set) var nextVersion = 1
    private var crash: StorageCrash?
    /// A crash during the operation that is being made.
    var aim: StorageCrash?
    /// A crash after the first change of facts that durable bytes depend on.
    var aimAtFacts: StorageCrash?
    /// The crash that has ended the process.
    private var fate: StorageCrash?
    /// What another program does before one of the next calls.
    var intrusion: (calls: Int, act: () -> Void)?
    private var errors: [Int: DiskFault] = [:]
    private var failingSync = 0
    /// How many bytes of the next record of more than a mark are written before an error.
    var shortWrite: Int?
    /// Whether the last call was a sync that failed, which is not recorded yet: a kill at that instant is not tried, because
    /// what it leaves is documented.
    private var isUnrecorded = false
    private var callsOfLife = 0
    private var syncsOfLife = 0
    private let hasErrors: Bool
    /// Whether an injected error or a full disk may have weakened a promise.
    var isFaulty = false

    init(_ recipe: inout Recipe, _ trace: Trace) {
        var now: Int64 = 1_795_000_000_000_000_000
        self.disk = SimulatedDisk(seed: recipe.draw(0...UInt64.max)) {
            now += 1_000_000
            return now
        }
        self.trace = trace
        trace.time = { [unowned disk] in Int64(disk.calls) * 1_000_000 }
        if recipe.has(oneIn: 4, "the file system is exFAT") { self.disk.features = .exFAT }
        if recipe.has(oneIn: 6, "the file system has no unnamed files") { self.disk.features.unnamedFiles = false }
        if recipe.has(oneIn: 3, "unsynced names survive independently") {
            self.disk.order = .independent
            // Otherwise the files that other programs have not synced would be lost with it.
            self.disk.makeDirectories(Self.directory)
        }
        self.hasErrors = recipe.has(oneIn: 3, "calls fail")
        if recipe.has(oneIn: 8, "the disk is small") {
            self.disk.capacity = recipe.draw(100_000...200_000)
            self.isFaulty = true
        }
        self.recipe = recipe
        self.chance = recipe
        self.store = FileCalls.simulating(self.disk) { DiskStore() }
        for name in Self.names { self.models[name] = StorageModel() }
    }

    /// Lives until the last process has ended.
    func live() {
        let disk = self.disk
        FileCalls.simulating(disk) {
            for life in 0..<3 {
                self.begin()
                for _ in 0..<self.recipe.draw(4...14) {
                    self.chance = Recipe(seed: self.recipe.draw(0...UInt64.max))
                    let aim = StorageCrash.aimed(&self.recipe)
                    let isAimed = self.recipe.has(oneIn: 8, "\(aim) of the next operation of process \(self.process)")
                    guard self.recipe.has(oneIn: 1, "an operation of process \(self.process)") else { continue }
                    self.aim = isAimed ? aim : nil
                    self.operate()
                    self.intrusion = nil
                    if disk.isDead(self.process) { break }
                }
                self.finish()
                guard self.end.broken.isEmpty else { break }
                self.end.count("lives")
                if life == 2 { break }
            }
        }
        self.end.count("calls", disk.calls)
    }

    private func begin() {
        let call = self.recipe.draw(1...160)
        let before = self.recipe.draw(0...1) == 0
        let kill = StorageCrash(losesPower: false, number: call, isBefore: before)
        let loss = StorageCrash(losesPower: true, number: call, isBefore: before)
        let isKilled = self.recipe.has(oneIn: 2, "\(kill) of process \(self.process)")
        let isLost = self.recipe.has(oneIn: 2, "\(loss) of process \(self.process)")
        self.crash = isKilled ? kill : isLost ? loss : nil
        let lossAtFacts = StorageCrash(
            losesPower: true,
            isOfSyncs: true,
            number: self.recipe.draw(1...3),
            isBefore: self.recipe.draw(0...1) == 0
        )
        self.aimAtFacts =
            self.recipe.has(oneIn: 4, "\(lossAtFacts) after process \(self.process) has changed facts")
            ? lossAtFacts : nil
        let sync = self.recipe.draw(1...4)
        self.failingSync =
            self.recipe.has(oneIn: 6, "sync \(sync) of process \(self.process) fails with EIO") ? sync : 0
        self.errors = [:]
        if self.hasErrors {
            for _ in 0..<3 {
                let number = self.recipe.pick([EIO, ENOSPC, EACCES, EMFILE, EROFS, EDQUOT])
                let call = self.recipe.draw(1...160)
                let (isShort, bytes) = (self.recipe.draw(0...4) == 0, self.recipe.draw(1...9000))
                if self.recipe.has(oneIn: 1, "call \(call) of process \(self.process) fails with \(number)") {
                    self.errors[call] = isShort ? .short(bytes, then: number) : .error(number)
                }
            }
        }
        self.callsOfLife = 0
        self.shortWrite = nil
        self.isUnrecorded = false
        self.syncsOfLife = 0
        self.aim = nil
        self.fate = nil
        self.disk.process = self.process
        // Without the boot id, no unsynced byte is promised.
        self.store = DiskStore()
        self.disk.onCall = { [unowned self] in self.fault($0) }
    }

    private func fault(_ call: DiskCall) -> DiskFault {
        guard call.process == self.process else { return .none }
        self.callsOfLife += 1
        self.trace.add("call \(self.callsOfLife)", "\(call.name) \(call.path) \(call.count)")
        if var intrusion = self.intrusion {
            intrusion.calls -= 1
            self.intrusion = intrusion.calls > 0 ? intrusion : nil
            if intrusion.calls == 0 { intrusion.act() }
        }
        let (isOver, isHit) = (self.crash?.hits(call) == true, self.aim?.hits(call) == true)
        let isRecording = self.isUnrecorded
        self.isUnrecorded = false
        if let fate = isOver ? self.crash : isHit ? self.aim : nil {
            self.fate = fate
            return fate.isBefore && !isRecording ? .killBefore : .killAfter
        }
        if call.isSync { self.syncsOfLife += 1 }
        let isFailingSync = call.isSync && self.syncsOfLife == self.failingSync
        var injected: DiskFault? = isFailingSync ? .error(EIO) : self.errors[self.callsOfLife]
        if let bytes = self.shortWrite, call.name == "pwrite", call.count > 32 {
            self.shortWrite = nil
            injected = .short(bytes, then: EIO)
        }
        guard let fault = injected, call.name != "close", call.name != "fcntl" else { return .none }
        self.trace.add("disk", "\(fault)")
        self.isFaulty = true
        self.isUnrecorded = isRecording || call.isSync
        for name in Self.names
        where [name + ".part", name + ".part.journal"].contains(call.path) || self.open?.name == name {
            // A sync that failed and could not be recorded either leaves nothing that may be believed.
            self.update(name) { if $0.partial?.hasLostWrites == true { $0.partial = nil } }
            // A mark of which a part was written counts for nothing, nor does its extent.
            if case .short(let bytes, _) = fault, call.count <= 8, bytes < call.count { self.weaken(name, torn: true) }
            // Before the operation reports it, the process may be killed.
            if call.name == "fsync" || call.name == "fdatasync" { self.weaken(name) }
        }
        return fault
    }

    /// Ends the process, and judges what it leaves.
    private func finish() {
        let losesPower = self.fate?.losesPower == true
        self.open = nil
        self.disk.endProcess(self.process)
        if losesPower {
            self.trace.add("disk", "loses power")
            self.disk.losePower()
            self.end.count("losses of power")
        } else {
            self.trace.add("process \(self.process)", "ends")
            if self.fate != nil { self.end.count("kills") }
        }
        self.process += 1
        self.disk.process = self.process
        self.disk.onCall = nil
        self.store = DiskStore()
        self.judge(afterLossOfPower: losesPower)
        self.disk.endProcess(self.process)
        self.process += 1
    }

    func makeVersion() -> Int {
        defer { self.nextVersion += 1 }
        return self.nextVersion
    }

    func target(_ name: String) -> FileTarget { FileTarget(directory: Self.directory, name: name) }
    func path(_ name: String) -> String { Self.directory + "/" + name }
}

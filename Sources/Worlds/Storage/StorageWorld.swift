// SPDX-License-Identifier: Apache-2.0
import FileStorage
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

/// How a process of a storage world ends.
enum StorageCrash: Equatable {
    case none
    case kill(call: Int, before: Bool)
    case power(call: Int, before: Bool)
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
    private var crash = StorageCrash.none
    private var errors: [Int: DiskFault] = [:]
    private var callsOfLife = 0
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
                    guard self.recipe.has(oneIn: 1, "an operation of process \(self.process)") else { continue }
                    self.operate()
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
        self.crash = .none
        if self.recipe.has(oneIn: 2, "process \(self.process) dies \(before ? "before" : "after") call \(call)") {
            self.crash = .kill(call: call, before: before)
        } else if self.recipe.has(oneIn: 2, "the power fails \(before ? "before" : "after") call \(call)") {
            self.crash = .power(call: call, before: before)
        }
        self.errors = [:]
        if self.hasErrors {
            for _ in 0..<3 {
                let number = self.recipe.pick([EIO, ENOSPC, EACCES, EMFILE, EROFS, EDQUOT])
                let call = self.recipe.draw(1...160)
                if self.recipe.has(oneIn: 1, "call \(call) of process \(self.process) fails with \(number)") {
                    self.errors[call] =
                        self.recipe.draw(0...4) == 0 ? .short(self.recipe.draw(1...9000), then: number) : .error(number)
                }
            }
        }
        self.callsOfLife = 0
        self.disk.process = self.process
        // Without the boot id, no unsynced byte is promised.
        self.store = DiskStore()
        self.disk.onCall = { [unowned self] in self.fault($0) }
    }

    private func fault(_ call: DiskCall) -> DiskFault {
        guard call.process == self.process else { return .none }
        self.callsOfLife += 1
        self.trace.add("call \(self.callsOfLife)", "\(call.name) \(call.path) \(call.count)")
        switch self.crash {
        case .kill(let number, let before), .power(let number, let before):
            if number == self.callsOfLife { return before ? .killBefore : .killAfter }
        case .none: break
        }
        guard let fault = self.errors[self.callsOfLife], call.name != "close", call.name != "fcntl" else {
            return .none
        }
        self.trace.add("disk", "\(fault)")
        self.isFaulty = true
        for name in Self.names where call.path == name + ".part" || self.open?.name == name {
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
        var losesPower = false
        if case .power = self.crash { losesPower = self.disk.isDead(self.process) }
        self.open = nil
        self.disk.endProcess(self.process)
        if losesPower {
            self.trace.add("disk", "loses power")
            self.disk.losePower()
            self.end.count("losses of power")
        } else {
            self.trace.add("process \(self.process)", "ends")
            if self.crash != .none { self.end.count("kills") }
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

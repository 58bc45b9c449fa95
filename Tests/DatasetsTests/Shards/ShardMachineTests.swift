// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import Datasets

@Suite struct ShardMachineTests {
    @Test func aShardIsClosedAtTheNumberOfSamples() {
        var machine = ShardMachine(limits: .init(bytes: 1 << 30, samples: 2), next: 3)
        #expect(machine.admission(of: 1024) == .create(".00003.tar.part"))
        machine.created()
        for row in 0..<2 {
            #expect(machine.admission(of: 1024) == .append)
            machine.appended(Int64(row), named: "\(row)", size: 1024, at: 0)
        }
        #expect(machine.isFull)
        #expect(machine.admission(of: 1024) == .seal)
    }

    @Test func aShardIsClosedBeforeTheSampleThatExceedsItsSize() {
        var machine = ShardMachine(limits: .init(bytes: 10_240, samples: 100), next: 0)
        machine.created()
        machine.appended(0, named: "0", size: 5120, at: 0)
        #expect(machine.admission(of: 4096) == .append)
        #expect(machine.admission(of: 4608) == .seal)
        #expect(!machine.isFull)
        machine.appended(1, named: "1", size: 4096, at: 0)
        #expect(machine.isFull)
    }

    @Test func aSampleLargerThanAShardGetsItsOwn() {
        var machine = ShardMachine(limits: .init(bytes: 1024, samples: 100), next: 0)
        machine.created()
        #expect(machine.admission(of: 1 << 40) == .append)
        machine.appended(0, named: "0", size: 1 << 40, at: 0)
        #expect(machine.admission(of: 1) == .seal)
    }

    @Test func aNameIsUsedOnceInAShard() {
        var machine = ShardMachine(limits: .init(), next: 0)
        machine.created()
        #expect(machine.sampleName("k", row: 1) == "k")
        machine.appended(1, named: "k", size: 1024, at: 0)
        #expect(machine.sampleName("k", row: 2) == "k%r2")
        machine.sealed(size: 2048)
        #expect(machine.sampleName("k", row: 2) == "k")
    }

    @Test func aShardIsClosedWhenNothingWasAddedForTheTimeOfItsLimit() {
        var machine = ShardMachine(limits: .init(idle: 100), next: 0)
        #expect(machine.idleness(at: 1000) == .none)
        machine.created()
        #expect(machine.idleness(at: 1000) == .none)
        machine.appended(0, named: "0", size: 1024, at: 1000)
        #expect(machine.idleness(at: 1050) == .until(1100))
        machine.appended(1, named: "1", size: 1024, at: 1090)
        #expect(machine.idleness(at: 1100) == .until(1190))
        #expect(machine.idleness(at: 1190) == .due && machine.ending == .seal)
        machine.sealed(size: 4096)
        #expect(machine.idleness(at: 5000) == .none)
        var patient = ShardMachine(limits: .init(), next: 0)
        patient.created()
        patient.appended(0, named: "0", size: 1024, at: 0)
        #expect(patient.idleness(at: .max) == .none)
    }

    @Test func aShardIsReportedAfterItsNameIsDurable() {
        var machine = ShardMachine(limits: .init(samples: 1), next: 0)
        machine.created()
        machine.appended(9, named: "9", size: 1024, at: 0)
        machine.sealed(size: 2048)
        var steps: [ShardMachine.Step] = []
        while let step = machine.step {
            steps.append(step)
            machine.performed()
        }
        #expect(
            steps == [
                .sync(".00000.tar.part"), .rename(".00000.tar.part", to: "00000.tar"), .syncDirectory,
                .report(ClosedShard(name: "00000.tar", rows: [9], size: 2048)),
            ]
        )
    }

    /// Rows of up to three reports in random sizes, steps that fail, and crashes between any two steps, until every row is
    /// reported.
    @Test(arguments: 0..<300)
    func everyRowIsReportedOnceWhateverIsKilledWhen(_ seed: Int) throws {
        var world = ShardWorld(seed: UInt64(seed))
        try world.run()
        #expect(world.reported.values.flatMap { $0 }.sorted() == Array(0..<world.rows))
        for (name, rows) in world.reported { #expect(world.disk.files[name] == rows) }
        // The names are contiguous, so that a reader can write them as a range.
        #expect(world.reported.keys.sorted() == (0..<Int64(world.reported.count)).map(ShardName.final))
        #expect(world.disk.files["notes.txt"] == [-1])
        #expect(world.disk.files.keys.allSatisfy { !$0.hasSuffix(".part") })
    }
}

/// A directory that forgets what is not synced when the machine loses power.
private struct FakeDirectory {
    /// The names and the rows of their samples.
    var files: [String: [Int64]] = ["notes.txt": [-1]]
    /// The names as of the last sync of the directory.
    private(set) var durableNames: [String: [Int64]] = ["notes.txt": [-1]]
    /// The incomplete files whose data is synced.
    private var syncedParts: Set<String> = []

    mutating func create(_ name: String) throws {
        guard self.files[name] == nil else { throw TestSupportError("\(name) exists") }
        self.files[name] = []
    }

    mutating func sync(_ name: String) { self.syncedParts.insert(name) }

    mutating func rename(_ old: String, _ new: String) throws {
        guard let rows = self.files.removeValue(forKey: old), self.files[new] == nil else {
            throw TestSupportError("\(old) cannot become \(new)")
        }
        guard !new.hasSuffix(".tar") || self.syncedParts.remove(old) != nil else {
            throw TestSupportError("\(new) is not synced")
        }
        self.files[new] = rows
    }

    mutating func syncDirectory() { self.durableNames = self.files }

    /// A power failure keeps either the unsynced names or the previous ones.
    mutating func losePower(keepingNames: Bool) {
        if !keepingNames { self.files = self.durableNames } else { self.durableNames = self.files }
        self.syncedParts = []
    }
}

/// A naive driver of the machine, with a table of rows and a report.
private struct ShardWorld {
    var random: SeededGenerator
    let rows: Int64
    /// The number of reports; row `n` is in report `n % reports`.
    let reports: Int64
    /// Whether the directory has its list of reports.
    var isListed = false
    var disk = FakeDirectory()
    var reported: [String: [Int64]] = [:]
    let limits: ShardLimits
    var now: Int64 = 0

    struct Crash: Error {}

    init(seed: UInt64) {
        self.random = SeededGenerator(seed: seed)
        self.rows = Int64.random(in: 0...40, using: &self.random)
        self.reports = Int64.random(in: 1...3, using: &self.random)
        self.limits = ShardLimits(
            bytes: Int64.random(in: 1...20, using: &self.random) * 1024,
            samples: Int.random(in: 1...6, using: &self.random),
            idle: Bool.random(using: &self.random) ? Int64.random(in: 1...20, using: &self.random) : nil
        )
    }

    /// Runs until all rows are reported; every run ends at a random step or at the end.
    mutating func run() throws {
        for attempt in 0... {
            do {
                for report in (0..<self.reports).shuffled(using: &self.random) {
                    try self.oneRun(report, crashes: attempt < 12)
                }
                return
            } catch is Crash {
                self.disk.losePower(keepingNames: Bool.random(using: &self.random))
            }
        }
    }

    private mutating func maybeCrash(_ crashes: Bool) throws {
        if crashes, Int.random(in: 0..<25, using: &self.random) == 0 { throw Crash() }
    }

    private mutating func oneRun(_ report: Int64, crashes: Bool) throws {
        let entries = self.disk.files.keys.map { ShardInventory.Entry(name: $0, isRegular: true) }
        let inventory = try ShardInventory(
            entries,
            .init(named: Set(self.reported.keys), areAllListed: self.isListed)
        )
        self.isListed = true
        for name in inventory.removed {
            self.disk.files[name] = nil
            try self.maybeCrash(crashes)
        }
        if let (old, new) = inventory.aside { try self.disk.rename(old, new) }
        self.disk.syncDirectory()
        var machine = ShardMachine(limits: self.limits, next: inventory.next)
        let done = Set(self.reported.values.flatMap { $0 })
        let own = (0..<self.rows).filter { $0 % self.reports == report && !done.contains($0) }
        for row in own.shuffled(using: &self.random) {
            try self.append(row, Int64.random(in: 1...8, using: &self.random) * 512, &machine, crashes)
        }
        while let ending = machine.ending {
            if ending == .seal { machine.sealed(size: machine.size + 1024) }
            while machine.step != nil { try self.step(&machine, crashes) }
        }
        while machine.step != nil { try self.step(&machine, crashes) }
        if let part = machine.emptyPart { self.disk.files[part] = nil }
    }

    private mutating func append(_ row: Int64, _ size: Int64, _ machine: inout ShardMachine, _ crashes: Bool) throws {
        while true {
            try self.maybeCrash(crashes)
            self.now += Int64.random(in: 0...4, using: &self.random)
            try self.closeIfIdle(&machine)
            switch machine.admission(of: size) {
            case .create(let name):
                try self.disk.create(name)
                machine.created()
            case .seal: machine.sealed(size: machine.size + 1024)
            case .waitForClosing: try self.step(&machine, crashes)
            case .append:
                // A failed write leaves the shard as it was: the sample is appended again.
                if Int.random(in: 0..<10, using: &self.random) == 0 { continue }
                let part = ".\(machine.name).part"
                self.disk.files[part]?.append(row)
                machine.appended(row, named: "\(row)", size: size, at: self.now)
                // Another thread performs steps at any time.
                if Bool.random(using: &self.random), machine.step != nil { try self.step(&machine, crashes) }
                return
            }
        }
    }

    /// Ends the shard that is filled when nothing was added to it for long, as another thread does.
    private mutating func closeIfIdle(_ machine: inout ShardMachine) throws {
        switch machine.idleness(at: self.now) {
        case .none: if self.limits.idle != nil, machine.ending != nil { throw TestSupportError("no end is planned") }
        case .until(let time): if time <= self.now { throw TestSupportError("the time to look again is over") }
        case .due: if machine.ending == .seal { machine.sealed(size: machine.size + 1024) }
        }
    }

    private mutating func step(_ machine: inout ShardMachine, _ crashes: Bool) throws {
        guard let step = machine.step else { return }
        try self.maybeCrash(crashes)
        // A failed step is tried again.
        if Int.random(in: 0..<10, using: &self.random) == 0 { return }
        switch step {
        case .sync(let name): self.disk.sync(name)
        case .rename(let old, let new): try self.disk.rename(old, new)
        case .syncDirectory: self.disk.syncDirectory()
        case .report(let shard):
            guard self.disk.durableNames[shard.name] == shard.rows, self.reported[shard.name] == nil else {
                throw TestSupportError("\(shard.name) is reported before it is durable, or twice")
            }
            self.reported[shard.name] = shard.rows
        }
        machine.performed()
        try self.maybeCrash(crashes)
    }
}

// SPDX-License-Identifier: Apache-2.0
import TransferTesting

/// The files of others next to a dataset, and the user's deletions in it.
final class DatasetHands {
    /// A file of the dataset that the user deletes.
    enum Victim: String {
        case shard = "a shard"
        case shardPart = "the shard that is being written"
        case file = "a finished file"
        case filePart = "a partial file"
        case temporary = "a temporary file before it gets its name"
    }

    /// The files of others, which must stay as they are.
    let foreign: [String: [UInt8]]
    /// The deleted files.
    private(set) var met: Set<Victim> = []
    /// The paths of the deleted shards and files.
    private(set) var removed: Set<String> = []

    private var removals: [(time: Int64, victim: Victim)] = []
    private let disk: SimulatedDisk
    private let trace: Trace

    init(_ recipe: inout Recipe, _ disk: SimulatedDisk, _ trace: Trace, writesShards: Bool) {
        self.disk = disk
        self.trace = trace
        let paths =
            writesShards
            ? ["shards/notes.txt", "shards/00000.tar.bak", "shards/.00001.tar.part.swp", "shards/x.tar", "report.old"]
            : ["files/0", "files/part-0/row-0.bin", "files/1.part", "files/2.part.journal", "files/part-1/row-1.bin"]
        var foreign: [String: [UInt8]] = [:]
        for _ in 0..<2 {
            let path = "/out/" + recipe.pick(paths)
            let bytes = SimulatedContent.random(recipe.draw(0...30_000), using: &recipe.random)
            if recipe.has(oneIn: 8, "another program's file is at \(path)") { foreign[path] = bytes }
        }
        self.foreign = foreign
        let victims: [Victim] =
            writesShards ? [.shard, .shard, .shardPart, .temporary] : [.file, .filePart, .temporary]
        for _ in 0..<2 {
            let time = Int64(recipe.draw(0...4000)) * 1_000_000
            let victim = recipe.pick(victims)
            let text = "after \(time / 1_000_000) ms the user deletes \(victim.rawValue)"
            if recipe.has(oneIn: 12, text) { self.removals.append((time, victim)) }
        }
    }

    /// Puts the files of others, and schedules what is deleted.
    ///
    /// - Parameters:
    ///   - scheduler: The scheduler of the world.
    ///   - isOver: Whether the dataset is complete, and nothing is deleted any more.
    func start(_ scheduler: Scheduler, isOver: @escaping () -> Bool) {
        for (path, bytes) in self.foreign.sorted(by: { $0.key < $1.key }) { self.disk.put(path, bytes) }
        for (time, victim) in self.removals where victim != .temporary {
            scheduler.schedule(after: time) { [unowned self] in
                if !isOver() { self.remove(victim, using: &scheduler.random) }
            }
        }
    }

    /// The files below a directory, without those of others.
    func files(in directory: String) -> [String] {
        self.disk.names(inDirectory: directory)
            .flatMap { name -> [String] in
                let path = "\(directory)/\(name)"
                return self.disk.contents(path) == nil ? self.files(in: path) : [path]
            }
            .filter { self.foreign[$0] == nil }
    }

    private func remove(_ victim: Victim, using generator: inout SeededGenerator) {
        let isPart = { (path: String) in path.hasSuffix(".part") || path.hasSuffix(".part.journal") }
        let paths: [String] =
            switch victim {
            case .shard: self.files(in: "/out/shards").filter { $0.hasSuffix(".tar") }
            case .shardPart: self.files(in: "/out/shards").filter { $0.hasSuffix(".tar.part") }
            case .file: self.files(in: "/out/files").filter { !isPart($0) }
            case .filePart: self.files(in: "/out/files").filter(isPart)
            case .temporary: []
            }
        guard let path = paths.randomElement(using: &generator) else { return }
        self.trace.add("world", "the user deletes \(path)")
        self.disk.remove(path)
        self.met.insert(victim)
        self.removed.insert(path)
    }

    /// A file is about to get its name: its temporary one may be deleted.
    func naming(at now: Int64) {
        guard let place = self.removals.firstIndex(where: { $0.victim == .temporary && $0.time <= now }) else { return }
        for directory in ["/out", "/out/shards"] {
            for name in self.disk.names(inDirectory: directory) where name.hasPrefix(".martlet-") && name.count == 17 {
                self.trace.add("world", "the user deletes \(directory)/\(name)")
                self.disk.remove("\(directory)/\(name)")
                self.met.insert(.temporary)
                if self.removals.indices.contains(place) { self.removals.remove(at: place) }
                return
            }
        }
    }
}

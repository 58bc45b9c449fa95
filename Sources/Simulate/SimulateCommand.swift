// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Platform
import Worlds

@main
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "martlet-simulate",
        abstract: "Runs the real code of Martlet in simulated worlds, and judges each of them.",
        discussion: """
            A world has servers, a network, a disk, processes and a user, all drawn from its seed, and virtual time. \
            A seed is the same world on every machine. A broken promise is shown with the smallest world that breaks \
            it. The exit status is 1 if a promise was broken.
            """
    )

    @Option(help: "The kind of worlds; without it, the seed decides.")
    var kind: String?
    @Option(help: "The seed of the first world.")
    var seed: UInt64 = 1
    @Option(help: "The number of worlds.")
    var worlds: UInt64?
    @Option(help: "The time after which no other world begins.")
    var minutes: Double?
    @Option(help: "The numbers of ingredients to leave out, separated by commas.")
    var without: String?
    @Option(help: "The number of findings after which it ends.")
    var findings = 5
    @Flag(help: "Print everything that happens.")
    var trace = false
    @Option(help: "The file for a picture of the last world's trace (SVG).")
    var picture: String?
    @Flag(help: "Live through each world twice, and compare the traces.")
    var twice = false
    @Flag(help: "Print the failures of worlds without shrinking them.")
    var noShrinking = false
    @OptionGroup(title: "Exhaustive search")
    var search: ExhaustiveOptions

    func validate() throws {
        if let kind, Worlds.kind(named: kind) == nil {
            let names = Worlds.kinds.map { $0.world.kind }.joined(separator: ", ")
            throw ValidationError("there is no kind '\(kind)' of worlds; use one of: \(names)")
        }
        if let without, without.split(separator: ",").contains(where: { Int($0) == nil }) {
            throw ValidationError("'\(without)' is not a list of numbers; use for example: --without 3,17")
        }
    }

    func run() throws {
        Self.fixHashing()
        if self.search.exhaustive { return try self.search.run() }
        DaemonWorld.prepare()
        let omitted = Set((self.without ?? "").split(separator: ",").compactMap { Int($0) })
        let clock = ContinuousClock()
        let start = clock.now
        let end = self.minutes.map { start.advanced(by: .seconds($0 * 60)) }
        let count = self.worlds ?? (end == nil ? 1000 : .max)
        var counts: [String: Int] = [:]
        var found = 0
        var lived: UInt64 = 0
        var memory = MemoryWatch()
        var deepest = 0
        while lived < count {
            if lived % 64 == 0, let end, clock.now >= end { break }
            let seed = self.seed &+ lived
            Watchdog.watch(seed)
            let world = self.kind.flatMap(Worlds.kind(named:)) ?? Worlds.kind(ofSeed: seed)
            let result = Shrinker.live(
                world,
                seed: seed,
                without: omitted,
                isTraced: self.trace || self.twice || self.picture != nil
            )
            if self.trace { for line in result.trace.lines { print(Story.text(line)) } }
            if let picture {
                let title = "world \(seed) (\(world.kind)): what happened, in virtual time"
                try Self.write(Picture.svg(title, result.trace.lines), to: picture)
            }
            for (what, times) in result.end.counts { counts[what, default: 0] += times }
            deepest = max(deepest, result.end.deepest)
            lived += 1
            var isBroken = !result.end.broken.isEmpty
            if self.twice {
                let again = Shrinker.live(world, seed: seed, without: omitted, isTraced: true)
                if again.trace.lines != result.trace.lines {
                    isBroken = true
                    print("BROKEN: seed \(seed) is not the same world twice")
                    Self.printDifference(result.trace.lines, again.trace.lines)
                }
            }
            if let left = memory.ended() {
                isBroken = true
                print("BROKEN: \(left)")
            }
            guard isBroken else { continue }
            found += 1
            if self.noShrinking {
                for promise in result.end.broken { print("BROKEN: \(world.kind) seed \(seed): \(promise)") }
            } else if let finding = Shrinker.shrink(world, seed: seed, without: omitted) {
                print("after \(lived) worlds:\n\(Story.text(finding))")
            }
            if found >= self.findings { break }
        }
        let seconds = Self.seconds(clock.now - start)
        for (what, times) in counts.sorted(by: { $0.key < $1.key }) { print("  \(what): \(times)") }
        print("  deepest stack, bytes: \(deepest)")
        let rate = seconds > 0 ? Int(Double(lived) / seconds * 60) : 0
        print(
            "\(lived) worlds from seed \(self.seed), \(found) broke a promise; \(Int(seconds)) s, \(rate) worlds a minute"
        )
        if found > 0 { throw ExitCode(1) }
    }

    private static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else {
            throw ValidationError("cannot write \(path): \(String(cString: strerror(errno)))")
        }
        fputs(text, file)
        fclose(file)
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }

    private static func printDifference(_ left: [Trace.Line], _ right: [Trace.Line]) {
        let place =
            zip(left, right).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(left.count, right.count)
        if place < left.count { print("  first:  \(Story.text(left[place]))") }
        if place < right.count { print("  second: \(Story.text(right[place]))") }
    }

    /// Starts the program again with hashing that is the same in each process: the order of sets and dictionaries is
    /// part of a world.
    private static func fixHashing() {
        guard getenv("SWIFT_DETERMINISTIC_HASHING") == nil else { return }
        setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
        execv(RunningExecutable.path ?? CommandLine.arguments[0], CommandLine.unsafeArgv)
    }
}

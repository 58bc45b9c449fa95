// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Worlds

/// The options of the exhaustive search.
struct ExhaustiveOptions: ParsableArguments {
    @Flag(help: "Try every sequence of responses for one file, with a kill after each effect.")
    var exhaustive = false
    @Option(help: "The number of responses in a sequence.")
    var depth = 4
    @Option(help: "The connections of the file.")
    var connections = 1
    @Option(help: "The units of 64 KiB by which the second version is longer.")
    var growth = 0
    @Flag(help: "Search a file that needs no journal.")
    var small = false
    @Flag(help: "Try further responses, which differ little from others.")
    var wide = false
    @Option(help: "The number of states after which the search ends.")
    var mostStates = 20_000_000

    func validate() throws {
        guard self.depth > 0, self.connections > 0, self.growth >= 0 else {
            throw ValidationError("--depth and --connections are at least 1, --growth is at least 0")
        }
    }

    /// Searches, and prints the sizes of the levels.
    func run() throws {
        let clock = ContinuousClock()
        let start = clock.now
        var search = ExhaustiveSearch(
            connections: self.connections,
            growth: Int64(self.growth),
            isSmall: self.small,
            isWide: self.wide
        )
        print("\(search.alphabet) responses, \(self.connections) connections")
        let isComplete = search.run(depth: self.depth, mostStates: self.mostStates) { level in
            let seconds = (clock.now - start) / .seconds(1)
            print(
                "depth \(level.depth): \(level.states) new states, \(level.transitions) transitions, "
                    + "after \((seconds * 10).rounded() / 10) s"
            )
        }
        for finding in search.findings {
            print("BROKEN: \(finding.promise)")
            for line in finding.story { print("  \(line)") }
        }
        let states = search.levels.reduce(0) { $0 + $1.states }
        let transitions = search.levels.reduce(0) { $0 + $1.transitions }
        print(
            "\(states) states, \(transitions) transitions, \(search.completions) completions, "
                + "\(Int((clock.now - start) / .seconds(1))) s; \(search.findings.count) broke a promise"
        )
        if !search.findings.isEmpty { throw ExitCode(1) }
        if !isComplete {
            print("the search ended before its depth")
            throw ExitCode(2)
        }
    }
}

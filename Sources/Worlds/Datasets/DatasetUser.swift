// SPDX-License-Identifier: Apache-2.0
import Datasets

/// The actions of the user of a dataset world.
struct DatasetUser {
    /// Another run at the same time.
    enum Twin: String {
        case sameReport = "with the same report"
        case sameShards = "with another report, into the same shards"
    }

    /// The failed rows that are fetched again when the report is complete.
    struct Retry {
        /// Whether they are fetched also if another attempt is not worth it.
        var all: Bool
        /// Whether the shards are written into another directory.
        var isElsewhere: Bool
        /// The time after which the run is killed, in nanoseconds.
        var kill: Int64?
    }

    /// The time after which the user stops a run, in nanoseconds, by the number of the run.
    private(set) var stops: [Int: Int64] = [:]
    /// The number of requests at a time from the second run on; `nil` if it stays.
    private(set) var laterFetches: Int?
    /// The limits of shards from the second run on; `nil` if they stay.
    private(set) var laterLimits: ShardLimits?
    /// When the user starts a second process, in nanoseconds.
    private(set) var twin: (time: Int64, twin: Twin)?
    private(set) var retry: Retry?

    init(_ recipe: inout Recipe, writesShards: Bool) {
        for run in 1...2 {
            let time = Int64(recipe.draw(0...3000)) * 1_000_000
            if recipe.has(oneIn: 5, "the user stops run \(run) after \(time / 1_000_000) ms") {
                self.stops[run] = time
            }
        }
        let fetches = recipe.pick([1, 3, 16])
        if recipe.has(oneIn: 4, "later runs send \(fetches) requests at a time") { self.laterFetches = fetches }
        let limits = ShardLimits(bytes: recipe.pick([4096, 100_000, 1 << 30]), samples: recipe.pick([1, 4, 10_000]))
        if recipe.has(oneIn: 4, "later runs write shards of \(limits.bytes) bytes and \(limits.samples) samples") {
            self.laterLimits = limits
        }
        let time = Int64(recipe.draw(0...2000)) * 1_000_000
        let twin = writesShards ? recipe.pick([Twin.sameReport, .sameShards]) : .sameReport
        if recipe.has(oneIn: 8, "the user starts a second run \(twin.rawValue) after \(time / 1_000_000) ms") {
            self.twin = (time, twin)
        }
        var retry = Retry(all: recipe.draw(0...2) == 0, isElsewhere: recipe.draw(0...1) == 0)
        let kill = Int64(recipe.draw(0...1500)) * 1_000_000
        let isKilled = recipe.draw(0...1) == 0
        if isKilled { retry.kill = kill }
        let text = "the user fetches \(retry.all ? "all failed" : "the failed") rows again"
        if recipe.has(oneIn: 3, isKilled ? "\(text), and is interrupted after \(kill / 1_000_000) ms" : text) {
            self.retry = retry
        }
    }
}

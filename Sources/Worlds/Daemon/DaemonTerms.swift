// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import TransferCore
import TransferTesting

/// The events of a daemon's world, drawn from its seed.
struct DaemonTerms {
    /// A request of the user; transfers are chosen when it is made.
    struct Step {
        enum Kind {
            case add(count: Int, isPaused: Bool, atFront: Bool)
            case pause, resume
            case remove(deletes: Bool)
            case retry, forget
            case priority(Int)
            case limit(Int)
            case pauseAll, resumeAll
            case move(toFront: Bool)
            case concurrent(Int)
            case hostLimit(Int)
            case schedule(isOpen: Bool)
            case save, list, stop
        }

        var kind: Kind
        /// The time before it.
        var delay: Int64
        /// Chooses the transfers.
        var choice: Int
        /// The number of transfers.
        var count: Int
    }

    /// The end of one process.
    struct Death {
        enum Moment {
            case time(Int64)
            case call(Int, isBefore: Bool)
        }

        /// The number of the process, from 1.
        var life: Int
        var moment: Moment
        var losesPower: Bool
    }

    /// A time in which the database's file system is full or fails.
    struct Trouble {
        var time: Range<Int64>
        var errno: Int32
    }

    var steps: [Step] = []
    var deaths: [Death] = []
    var troubles: [Trouble] = []
    var rate: Int64 = 0

    init(_ recipe: inout Recipe) {
        self.rate = recipe.pick([50_000, 400_000, 4_000_000])
        let first = recipe.draw(1...4)
        let isPaused = recipe.draw(0...3) == 0
        if recipe.has(oneIn: 1, "the user adds \(first) transfers\(isPaused ? ", paused" : "")") {
            let kind = Step.Kind.add(count: first, isPaused: isPaused, atFront: false)
            self.steps.append(Step(kind: kind, delay: 0, choice: 0, count: 1))
        }
        for _ in 0..<recipe.draw(1...9) {
            let step = Self.step(&recipe)
            if recipe.has(oneIn: 1, "the user \(step.kind.text) after \(step.delay / 1_000_000) ms") {
                self.steps.append(step)
            }
        }
        for life in 1...4 {
            let isBefore = recipe.draw(0...1) == 0
            let moment = recipe.pick([
                Death.Moment.time(Int64(recipe.draw(0...3000)) * 1_000_000),
                .call(recipe.draw(1...120), isBefore: isBefore), .call(recipe.draw(1...40), isBefore: isBefore),
            ])
            let losesPower = recipe.draw(0...2) == 0
            let text = losesPower ? "the machine of daemon \(life) loses its power" : "daemon \(life) is killed"
            if recipe.has(oneIn: 2, "\(text) \(moment.text)") {
                self.deaths.append(Death(life: life, moment: moment, losesPower: losesPower))
            }
        }
        let start = Int64(recipe.draw(0...2000)) * 1_000_000
        let length = Int64(recipe.draw(1...10_000)) * 1_000_000
        let (number, name): (Int32, String) = recipe.pick([(28, "full"), (28, "full"), (5, "failing")])
        let span = "from \(start / 1_000_000) ms for \(length / 1_000_000) ms"
        if recipe.has(oneIn: 8, "the disk of the database is \(name) \(span)") {
            self.troubles.append(Trouble(time: start..<start + length, errno: number))
        }
    }

    private static func step(_ recipe: inout Recipe) -> Step {
        let (deletes, toFront, isPaused) = (recipe.draw(0...1) == 0, recipe.draw(0...1) == 0, recipe.draw(0...4) == 0)
        let number = recipe.draw(1...4)
        let kind: Step.Kind = recipe.pick([
            (6, .add(count: recipe.draw(1...3), isPaused: isPaused, atFront: toFront)),
            (5, .pause), (5, .resume), (4, .remove(deletes: deletes)), (2, .retry), (2, .forget),
            (2, .priority(number - 2)), (1, .limit(number * 100_000)), (2, .pauseAll), (2, .resumeAll),
            (4, .move(toFront: toFront)), (1, .concurrent(number)), (1, .hostLimit(number)), (1, .save), (4, .list),
            (1, .schedule(isOpen: toFront)), (1, .stop),
        ])
        let delay = recipe.pick([0, Int64(recipe.draw(0...50)), Int64(recipe.draw(50...1500))]) * 1_000_000
        return Step(kind: kind, delay: delay, choice: recipe.draw(0...1 << 20), count: recipe.pick([1, 1, 1, 2, 3]))
    }

    /// Draws a resource of the site.
    static func resource(using random: inout SeededGenerator) -> DaemonSite.Resource {
        let size =
            Int.random(in: 0...9, using: &random) < 8
            ? Int.random(in: 0...120_000, using: &random) : Int.random(in: 270_000...400_000, using: &random)
        let isRefused = Int.random(in: 0..<12, using: &random) == 0
        let fails = Int.random(in: 0..<6, using: &random) == 0
        return DaemonSite.Resource(
            SimulatedContent(SimulatedContent.random(size, using: &random)),
            refusal: isRefused ? [404, 403, 410].randomElement(using: &random) : nil,
            failures: fails ? Int.random(in: 1...3, using: &random) : 0
        )
    }
}

extension DaemonTerms.Step.Kind {
    var text: String {
        switch self {
        case .add(let count, let isPaused, let atFront):
            "adds \(count)\(isPaused ? " paused" : "")\(atFront ? " at the beginning" : "")"
        case .pause: "pauses some"
        case .resume: "resumes some"
        case .remove(let deletes): "removes some\(deletes ? " with partial files" : "")"
        case .retry: "retries some"
        case .forget: "forgets some"
        case .priority(let priority): "sets the priority \(priority)"
        case .limit(let rate): "limits one to \(rate) bytes a second"
        case .pauseAll: "pauses everything"
        case .resumeAll: "resumes everything"
        case .move(let toFront): "moves one to the \(toFront ? "beginning" : "end")"
        case .concurrent(let count): "lets \(count) run"
        case .hostLimit(let count): "limits the host to \(count) connections"
        case .schedule(let isOpen): isOpen ? "lets transfers run always" : "lets transfers run in an hour"
        case .save: "saves"
        case .list: "lists"
        case .stop: "stops the daemon"
        }
    }
}

extension DaemonTerms.Death.Moment {
    var text: String {
        switch self {
        case .time(let time): "after \(time / 1_000_000) ms"
        case .call(let number, let isBefore): "\(isBefore ? "before" : "after") file system call \(number)"
        }
    }
}

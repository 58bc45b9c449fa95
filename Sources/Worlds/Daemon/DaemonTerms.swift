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
            case add(count: Int, isPaused: Bool, atFront: Bool, Extras)
            case pause, resume
            case remove(deletes: Bool)
            case retry, forget
            case priority(Int)
            case limit(Int)
            case mark(Int)
            case pauseAll, resumeAll
            case move(by: Int, from: MoveOrigin)
            case concurrent(Int)
            case hostLimit(Int)
            case schedule(ScheduleWish)
            case save, list, stop
        }

        /// The options with which transfers are added.
        struct Extras {
            var priority: Int?
            var limit: Int?
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

    /// A schedule, relative to the time at which it is set.
    enum ScheduleWish {
        case always
        /// Transfers run from a number of minutes ahead, for a number of minutes.
        case opens(in: Int, for: Int, isOnThatDay: Bool)
        /// Transfers run at all times but from a number of minutes ahead, for a number of minutes.
        case closes(in: Int, for: Int)
    }

    var steps: [Step] = []
    var deaths: [Death] = []
    var rate: Int64 = 0
    /// The number of transfers that run at once at the beginning.
    var concurrent = 2
    /// The seconds after which an outage fails a transfer; `nil` for the daemon's own number.
    var outageTimeout: Int?
    /// Whether the user waits for the schedule at the end, instead of removing it.
    var waitsForSchedule = false

    init(_ recipe: inout Recipe) {
        self.rate = recipe.pick([50_000, 400_000, 4_000_000])
        if recipe.has(oneIn: 3, "one transfer runs at a time") { self.concurrent = 1 }
        if recipe.has(oneIn: 3, "outages fail transfers after 30 s") { self.outageTimeout = 30 }
        let first = recipe.pick([recipe.draw(1...4), recipe.draw(1...4), recipe.draw(4...9)])
        let isPaused = recipe.draw(0...3) == 0
        if recipe.has(oneIn: 1, "the user adds \(first) transfers\(isPaused ? ", paused" : "")") {
            let kind = Step.Kind.add(count: first, isPaused: isPaused, atFront: false, .init())
            self.steps.append(Step(kind: kind, delay: 0, choice: 0, count: 1))
        }
        for _ in 0..<recipe.draw(1...9) {
            let step = Self.step(&recipe)
            if recipe.has(oneIn: 1, "the user \(step.kind.text) after \(step.delay / 1_000_000) ms") {
                self.steps.append(step)
            }
        }
        self.waitsForSchedule = recipe.has(oneIn: 2, "the user waits for the schedule")
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
    }

    private static func step(_ recipe: inout Recipe) -> Step {
        let (deletes, toFront, isPaused) = (recipe.draw(0...1) == 0, recipe.draw(0...1) == 0, recipe.draw(0...4) == 0)
        let number = recipe.draw(1...4)
        let extras = Step.Extras(
            priority: recipe.pick([nil, nil, nil, recipe.draw(-1...2)]),
            limit: recipe.pick([nil, nil, nil, recipe.draw(1...4) * 100_000])
        )
        let offset = recipe.pick([0, 0, recipe.draw(-4...4)])
        let origin: MoveOrigin = offset == 0 ? (toFront ? .start : .end) : recipe.pick([.start, .current, .end])
        let minutes = (recipe.draw(1...12), recipe.draw(1...30))
        let wish: ScheduleWish = recipe.pick([
            .always, .opens(in: 60, for: 60, isOnThatDay: false),
            .opens(in: minutes.0, for: minutes.1, isOnThatDay: toFront), .closes(in: minutes.0 / 4, for: minutes.1),
        ])
        let kind: Step.Kind = recipe.pick([
            (6, .add(count: recipe.draw(1...3), isPaused: isPaused, atFront: toFront, extras)),
            (5, .pause), (5, .resume), (4, .remove(deletes: deletes)), (2, .retry), (2, .forget),
            (3, .priority(number - 2)), (1, .limit(number * 100_000)), (1, .mark(number)), (2, .pauseAll),
            (2, .resumeAll), (5, .move(by: offset, from: origin)), (1, .concurrent(number)), (1, .hostLimit(number)),
            (1, .save), (4, .list), (2, .schedule(wish)), (1, .stop),
        ])
        let long = Int64(recipe.draw(1500...400_000))
        let short = recipe.pick([0, Int64(recipe.draw(0...50)), Int64(recipe.draw(50...1500))])
        let delay = (recipe.draw(0...14) == 0 ? long : short) * 1_000_000
        return Step(kind: kind, delay: delay, choice: recipe.draw(0...1 << 20), count: recipe.pick([1, 1, 1, 2, 3]))
    }

    /// Draws a resource of the site.
    static func resource(using random: inout SeededGenerator) -> DaemonSite.Resource {
        let size =
            Int.random(in: 0...9, using: &random) < 8
            ? Int.random(in: 0...120_000, using: &random) : Int.random(in: 270_000...400_000, using: &random)
        let isRefused = Int.random(in: 0..<12, using: &random) == 0
        let fails = Int.random(in: 0..<6, using: &random) == 0
        let other = Bool.random(using: &random) ? size : Int.random(in: 0...120_000, using: &random)
        let changes = Int.random(in: 0..<8, using: &random) == 0
        return DaemonSite.Resource(
            SimulatedContent(SimulatedContent.random(size, using: &random)),
            next: changes ? SimulatedContent(SimulatedContent.random(other, using: &random)) : nil,
            afterRequests: Int.random(in: 1...3, using: &random),
            refusal: isRefused ? [404, 403, 410].randomElement(using: &random) : nil,
            failures: fails ? Int.random(in: 1...3, using: &random) : 0
        )
    }
}

extension DaemonTerms.Step.Kind {
    var text: String {
        switch self {
        case .add(let count, let isPaused, let atFront, let extras):
            "adds \(count)\(isPaused ? " paused" : "")\(atFront ? " at the beginning" : "")\(extras.text)"
        case .pause: "pauses some"
        case .resume: "resumes some"
        case .remove(let deletes): "removes some\(deletes ? " with partial files" : "")"
        case .retry: "retries some"
        case .forget: "forgets some"
        case .priority(let priority): "sets the priority \(priority)"
        case .limit(let rate): "limits one to \(rate) bytes a second"
        case .pauseAll: "pauses everything"
        case .resumeAll: "resumes everything"
        case .mark(let number): "changes the header of one to \(number)"
        case .move(let offset, let origin): "moves one by \(offset) from the \(origin)"
        case .concurrent(let count): "lets \(count) run"
        case .hostLimit(let count): "limits the host to \(count) connections"
        case .schedule(.always): "lets transfers run always"
        case .schedule(.opens(let start, let length, let isOnThatDay)):
            "lets transfers run in \(start) min for \(length) min\(isOnThatDay ? " on that day" : "")"
        case .schedule(.closes(let start, let length)):
            "lets no transfers run in \(start) min for \(length) min"
        case .save: "saves"
        case .list: "lists"
        case .stop: "stops the daemon"
        }
    }
}

extension DaemonTerms.Step.Extras {
    var text: String {
        (self.priority.map { ", priority \($0)" } ?? "") + (self.limit.map { ", \($0) bytes a second" } ?? "")
    }

    var options: TransferOptions {
        var options = TransferOptions()
        options[.priority] = self.priority.map { "\($0)" }
        options[.maxDownloadLimit] = self.limit.map { "\($0)" }
        return options
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

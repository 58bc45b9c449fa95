// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Tries every sequence of responses to the requests for one file, with a kill after each effect.
///
/// The real ``DownloadMachine`` runs over a model of its files. Sequences that lead to equal states are continued once:
/// a state is the machine, the files with the origin of each byte, and the responses of which something has still to
/// arrive. From each state on, correct servers of both versions must bring the file to its end.
package struct ExhaustiveSearch {
    /// The size of a search.
    package struct Level: Sendable {
        /// The number of responses.
        package var depth: Int
        /// The states first reached with this number.
        package var states = 0
        /// The steps that led to states with this number: responses, their parts, and kills.
        package var transitions = 0
    }

    /// A promise that was broken, and the sequence that breaks it.
    package struct Finding: Sendable {
        package var promise: String
        /// The responses, one a line.
        package var story: [String]
    }

    private final class Path {
        let parent: Path?
        let step: Step

        init(_ parent: Path?, _ step: Step) {
            self.parent = parent
            self.step = step
        }
    }

    private enum Step {
        case answer(request: Int, letter: Int, range: String?)
        case proceed(request: Int)
        case kill(effect: Int)
        case nextRun(RunOutcome)
    }

    private struct Node {
        var run: ModelRun
        var path: Path?
    }

    private let scale: ModelScale
    private let letters: [ModelLetter]
    private var seen: Set<UInt64> = []
    private var seenDisks: Set<ModelDisk> = []
    private var next: [Node] = []
    /// The states of the present level that are still to be continued.
    private var stack: [Node] = []
    private var level = Level(depth: 0)
    /// Whether what follows the present level is not searched.
    private var isLastLevel = false

    /// The sizes, from no response on.
    package private(set) var levels: [Level] = []
    /// The broken promises; the search ends with the tenth.
    package private(set) var findings: [Finding] = []
    /// The number of times that a correct server had to finish the file.
    package private(set) var completions = 0

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - connections: The number of connections of the download.
    ///   - growth: The number of units of 64 KiB by which the second version is longer than the first, which has five.
    ///   - isSmall: Whether the file is small enough to need no journal.
    ///   - isWide: Whether further responses are tried that differ little from others.
    package init(connections: Int, growth: Int64 = 0, isSmall: Bool = false, isWide: Bool = false) {
        self.scale = ModelScale(
            unit: isSmall ? 16 << 10 : 64 << 10,
            units: 5,
            growth: growth,
            connections: connections
        )
        self.letters = ModelLetter.alphabet + (isWide ? ModelLetter.further : [])
    }

    /// The number of responses to choose from.
    package var alphabet: Int { self.letters.count }

    /// Searches all sequences of up to so many responses.
    ///
    /// - Parameters:
    ///   - depth: The number of responses.
    ///   - mostStates: The search ends when it has found so many states.
    ///   - reached: Called after each level.
    /// - Returns: Whether the whole depth was searched.
    package mutating func run(depth: Int, mostStates: Int = .max, reached: (Level) -> Void = { _ in }) -> Bool {
        self.begin(on: ModelDisk(), after: nil, into: \.next)
        self.levels = [self.level]
        for number in 1...max(1, depth) {
            self.level = Level(depth: number)
            self.isLastLevel = number == depth
            self.stack = self.next
            self.next = []
            while let node = self.stack.popLast() {
                self.continueAll(node)
                guard self.findings.count < 10, self.seen.count < mostStates else { return false }
            }
            self.levels.append(self.level)
            reached(self.level)
        }
        return true
    }

    private mutating func continueAll(_ node: Node) {
        for exchange in node.run.exchanges {
            if exchange.response != nil {
                let run = node.run.copy()
                run.proceed(exchange.number)
                self.arrived(run, Path(node.path, .proceed(request: exchange.number)), into: \.stack)
                continue
            }
            for index in self.letters.indices {
                let run = node.run.copy()
                run.answer(exchange.number, with: self.letters[index])
                let step = Step.answer(request: exchange.number, letter: index, range: exchange.plan.range)
                self.arrived(run, Path(node.path, step), into: \.next)
            }
        }
    }

    /// A step has been made: judges it, and keeps the states to which it and kills during it lead, if they are new.
    private mutating func arrived(_ run: ModelRun, _ path: Path, into list: WritableKeyPath<Self, [Node]>) {
        self.level.transitions += 1
        for (effect, disk) in run.crashes.enumerated() where self.seenDisks.insert(disk).inserted {
            self.begin(on: disk, after: Path(path, .kill(effect: effect + 1)), into: list)
        }
        self.settle(run, path, into: list)
    }

    private mutating func begin(on disk: ModelDisk, after path: Path?, into list: WritableKeyPath<Self, [Node]>) {
        self.level.transitions += 1
        self.settle(ModelRun(self.scale, disk), path, into: list)
    }

    private mutating func settle(_ arrived: ModelRun, _ path: Path?, into list: WritableKeyPath<Self, [Node]>) {
        var (run, path) = (arrived, path)
        while true {
            guard self.isSound(run, path) else { return }
            guard let ending = run.ending else { break }
            guard let next = Self.successor(of: run, ending) else { return }
            path = Path(path, .nextRun(ending.outcome))
            run = next
        }
        guard self.isNew(run) else { return }
        self.level.states += 1
        for version in [ModelVersion.a, .b] { self.complete(run.copy(), version, path) }
        if self.level.depth <= 1 { self.repeatEach(run, path) }
        if self.isLastLevel, list == \.next { return }
        self[keyPath: list].append(Node(run: run, path: path))
    }

    /// The run that follows one that has ended, or `nil` if the file is finished.
    private static func successor(of run: ModelRun, _ ending: DownloadEnding) -> ModelRun? {
        switch ending.outcome {
        case .finished: nil
        case .retry: ModelRun(run.scale, run.disk, run.machine.history)
        // The user tries again.
        case .failed, .paused, .stopped, .cancelled: ModelRun(run.scale, run.disk)
        }
    }

    private mutating func isNew(_ run: ModelRun) -> Bool {
        var hasher = Hasher()
        run.combine(into: &hasher)
        return self.seen.insert(UInt64(bitPattern: Int64(hasher.finalize()))).inserted
    }

    private mutating func isSound(_ run: ModelRun, _ path: Path?, _ more: [String] = []) -> Bool {
        guard let promise = run.broken.first else { return true }
        self.found(promise, path, more)
        return false
    }

    // MARK: Ends

    /// The most requests and runs of a correct server until a file is finished.
    private static let mostRequests = 40
    private static let mostRuns = 12

    /// Lets a correct server finish the file.
    private mutating func complete(_ begun: ModelRun, _ version: ModelVersion, _ path: Path?) {
        self.completions += 1
        var (run, requests, runs) = (begun, 0, 0)
        let letter = ModelLetter.correct(version)
        while true {
            guard self.isSound(run, path, ["then a correct server of \(version)"]) else { return }
            if let ending = run.ending {
                guard let next = Self.successor(of: run, ending) else { return }
                runs += 1
                run = next
            } else if let exchange = run.exchanges.first(where: { $0.response != nil }) {
                run.proceed(exchange.number)
            } else if let exchange = run.exchanges.first {
                requests += 1
                run.answer(exchange.number, with: letter)
            }
            guard requests <= Self.mostRequests, runs <= Self.mostRuns else {
                return self.found("a correct server of \(version) cannot finish it", path)
            }
        }
    }

    /// The most responses of a server that always sends the same one, until a run ends.
    private static let mostRepetitions = 200

    /// Lets a server send the same response for ever: the run must end, so that its retries are counted.
    private mutating func repeatEach(_ begun: ModelRun, _ path: Path?) {
        for letter in self.letters {
            let run = begun.copy()
            var count = 0
            while run.ending == nil, let exchange = run.exchanges.first, count <= Self.mostRepetitions {
                if exchange.response == nil {
                    run.answer(exchange.number, with: letter)
                    count += 1
                } else {
                    run.proceed(exchange.number)
                }
            }
            let isSound = self.isSound(run, path, ["then always: \(letter.name)"])
            if isSound, count > Self.mostRepetitions {
                self.found("a run does not end", path, ["then always: \(letter.name)"])
            }
        }
    }

    private mutating func found(_ promise: String, _ path: Path?, _ more: [String] = []) {
        var steps: [Step] = []
        var one = path
        while let now = one {
            steps.append(now.step)
            one = now.parent
        }
        var run = ModelRun(self.scale, ModelDisk())
        var story: [String] = []
        for step in steps.reversed() {
            let last = run.crashes
            run = run.copy()
            switch step {
            case .answer(let request, let letter, _): run.answer(request, with: self.letters[letter])
            case .proceed(let request): run.proceed(request)
            case .kill(let effect): run = ModelRun(self.scale, last[effect - 1])
            case .nextRun: if let ending = run.ending { run = Self.successor(of: run, ending) ?? run }
            }
            story.append("\(self.text(step)); now \(run.state)")
        }
        self.findings.append(Finding(promise: promise, story: story + more))
    }

    private func text(_ step: Step) -> String {
        switch step {
        case .answer(let request, let letter, let range):
            "request \(request) for \(range ?? "the whole"): \(self.letters[letter].name)"
        case .proceed(let request): "more of the response to request \(request)"
        case .kill(let effect): "killed after effect \(effect) of this; started again"
        case .nextRun(let outcome): "the run ends: \("\(outcome)".prefix(200)); the next one begins"
        }
    }
}

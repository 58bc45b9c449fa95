// SPDX-License-Identifier: Apache-2.0
import Control
import TransferTesting

@testable import CommandLineTool

/// A queue in memory that answers the model's actions, and random records.
struct TopWorld {
    var model: TopModel
    /// The queue, in the order of the daemon's list.
    var records: [TransferRecord] = []
    private(set) var loads: [TopRequest] = []
    private(set) var calls: [TopCall] = []
    private(set) var hasQuit = false
    var features = TopFeatures(canSearch: true, canSort: true)
    private var steady = 0.0

    init(columns: Int = 80, rows: Int = 24, count: Int = 0) {
        self.model = TopModel(interval: 1, time: TopTime(wall: 1_790_000_000, steady: 0))
        self.records = (0..<count).map { Self.record(UInt64($0 + 1), .waiting, name: "file\($0)") }
        self.handle(.resized(columns: columns, rows: rows))
    }

    static func record(
        _ number: UInt64,
        _ state: TransferRecord.State = .waiting,
        name: String = "a.bin"
    ) -> TransferRecord {
        var record = TransferRecord(
            id: GID(rawValue: number) ?? .random(),
            state: state,
            urls: ["http://user:secret@host\(number % 7).example/dir/\(name)"],
            directory: "/d",
            added: 1
        )
        record.path = "/d/" + name
        return record
    }

    @discardableResult
    mutating func handle(_ event: TopEvent) -> [TopAction] {
        let actions = self.model.handle(event)
        for action in actions {
            switch action {
            case .load(let request): self.loads.append(request)
            case .call(let call): self.calls.append(call)
            case .quit: self.hasQuit = true
            case .repaint: break
            }
        }
        return actions
    }

    /// The requests without an answer.
    private(set) var answered = (loads: 0, calls: 0)
    var openLoads: Int { self.loads.count - self.answered.loads }
    var openCalls: Int { self.calls.count - self.answered.calls }

    mutating func press(_ keys: TopKey...) { for key in keys { self.handle(.key(key)) } }
    mutating func type(_ text: String) { for character in text { self.handle(.key(.character(character))) } }

    mutating func tick(_ seconds: Double = 1) {
        self.steady += seconds
        self.handle(.tick(TopTime(wall: 1_790_000_000 + self.steady, steady: self.steady)))
    }

    /// Answers the open request from the queue.
    mutating func answerLoad(_ error: ControlError? = nil) {
        guard self.openLoads > 0, let request = self.loads.last else { return }
        self.answered.loads += 1
        if let error {
            self.handle(.loadFailed(error))
            return
        }
        var snapshot = TopSnapshot(request: request)
        snapshot.features = self.features
        var rows = self.records
        if !request.query.tab.states.isEmpty { rows = rows.filter { request.query.tab.states.contains($0.state) } }
        if !request.query.search.isEmpty { rows = rows.filter { $0.path?.contains(request.query.search) ?? false } }
        for record in rows {
            switch record.state {
            case .waiting: snapshot.counts.waiting += 1
            case .active: snapshot.counts.active += 1
            case .retrying: snapshot.counts.retrying += 1
            case .held: snapshot.counts.held += 1
            case .paused: snapshot.counts.paused += 1
            case .finished: snapshot.counts.finished += 1
            case .failed: snapshot.counts.failed += 1
            case .removed: snapshot.counts.removed += 1
            }
        }
        if request.query.isReversed { rows.reverse() }
        snapshot.records = Array(rows.dropFirst(request.offset).prefix(request.limit))
        if let id = request.details {
            snapshot.details =
                self.records.first { $0.id == id }.map { .success($0) }
                ?? .failure(ControlError(.notFound, "the transfer \(id) does not exist"))
        }
        if request.wantsLimits { snapshot.limits = TopLimits() }
        if request.wantsSessions { snapshot.sessions = ["s": "/usr/bin/program"] }
        self.handle(.loaded(snapshot))
    }

    /// Answers requests until there is none.
    mutating func settle() {
        var left = 20
        while self.openLoads > 0, left > 0 {
            self.answerLoad()
            left -= 1
        }
    }

    mutating func answerCall(_ result: Result<String, ControlError> = .success("done")) {
        guard self.openCalls > 0 else { return }
        self.answered.calls += 1
        self.handle(.called(result))
    }

    /// The lines of the screen.
    func lines(unicode: Bool = true) -> [String] {
        TopScreen(unicode: unicode).frame(self.model).lines.map(\.text)
    }

    // MARK: Random records

    static let texts = [
        "plain.bin", "日本語のファイル.zip", "👨‍👩‍👧‍👦🇩🇪.mp4", "e\u{301}\u{301}\u{301}x", "\u{301}\u{302}first", "\u{FE0F}vs",
        "\u{1B}]0;title\u{7}\u{1B}[2J", "a\nb\r\nc\td", "\u{202E}gpj.exe", "\u{200D}\u{200D}", "", "🇩🇪🇩",
        "\u{D4E}x\u{D4E}",
        "\u{1100}\u{1161}\u{11A8}", String(repeating: "x", count: 5000), String(repeating: "\u{301}", count: 300),
        String(repeating: "界", count: 200), "❤\u{FE0F}❤", "a/b/c", "\u{9B}2J\u{0}", "1\u{FE0F}\u{20E3}", "\u{600}12",
    ]

    static func randomRecord(_ random: inout SeededGenerator) -> TransferRecord {
        func text() -> String { Self.texts.randomElement(using: &random) ?? "" }
        func number() -> Int64 {
            [0, 1, 999, 1 << 20, 1 << 40, .max, .min, -1, Int64.random(in: 0...1 << 34, using: &random)]
                .randomElement(using: &random) ?? 0
        }
        let state = TransferRecord.State.allCases.randomElement(using: &random) ?? .waiting
        var record = Self.record(UInt64.random(in: 1...60, using: &random), state, name: text())
        if Bool.random(using: &random) { record.urls = [text(), "http://h:99/\(text())"] }
        if Bool.random(using: &random) { record.urls = [] }
        if Bool.random(using: &random) { record.path = nil }
        if Bool.random(using: &random) { record.session = ["s", text()].randomElement(using: &random) ?? nil }
        record.bytes = number()
        record.total = Bool.random(using: &random) ? number() : nil
        record.rate = number()
        record.connections = Int(clamping: number())
        record.ended = [nil, 0, 1e300, -1e300, 1_790_000_000, .infinity, .nan].randomElement(using: &random) ?? nil
        if Int.random(in: 0..<3, using: &random) == 0 {
            record.hold = TransferRecord.Hold(
                host: text(),
                reason: ["unreachable", "network", "throttled", text()].randomElement(using: &random) ?? "",
                cause: text(),
                message: text(),
                since: [0, 1e300, .nan].randomElement(using: &random) ?? 0,
                nextTry: [nil, 1e300, -1e300, .nan].randomElement(using: &random) ?? nil
            )
        }
        if state == .failed {
            record.failure = .init(
                code: 3,
                message: text(),
                remedy: text(),
                status: Bool.random(using: &random) ? 404 : nil
            )
        }
        record.waitingFor = [nil, .held, .schedule, .diskFull].randomElement(using: &random) ?? nil
        return record
    }
}

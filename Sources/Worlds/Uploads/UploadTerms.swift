// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// The user's request and options in an upload world.
struct UploadTerms {
    /// An action of the user during the upload.
    enum Action {
        case pause(for: Int64)
        case cancel(keeping: Bool)
        case rate(Int64?)

        var text: String {
            switch self {
            case .pause(let length): "pauses for \(length / 1_000_000) ms"
            case .cancel(let keeping): keeping ? "cancels, to continue later" : "cancels"
            case .rate(let rate): rate.map { "limits the rate to \($0) bytes per second" } ?? "removes the rate limit"
            }
        }
    }

    /// When something happens: at a time after the beginning, or when the server has read so many bytes.
    enum Moment {
        case time(Int64)
        case bytes(Int64)

        var text: String {
            switch self {
            case .time(let time): "after \(time / 1_000_000) ms"
            case .bytes(let count): "when \(count) bytes have arrived"
            }
        }

        init(_ recipe: inout Recipe, length: Int) {
            let time = Int64(recipe.draw(0...1500)) * 1_000_000
            let bytes = Int64(recipe.draw(0...max(1, length)))
            self = recipe.draw(0...1) == 0 ? .time(time) : .bytes(bytes)
        }
    }

    var way = UploadWay.plain
    var method = "PUT"
    var hasJournal = true
    var checksum: DigestAlgorithm?
    var asksFrom: Int64?
    var options = DownloadOptions()
    var lanes = 1
    /// Whether the user starts the command again after a failure.
    var triesAgain = true
    var actions: [(moment: Moment, action: Action)] = []
    var changes: [(moment: Moment, change: SimulatedSource.Change)] = []
    var kills: [(kill: Kill, losesPower: Bool)] = []
    /// When a second process uploads the same file, in nanoseconds; `nil` if none does.
    var twinDelay: Int64?
    /// When the journal is deleted or damaged by another program, in nanoseconds; `nil` for never.
    var journalLoss: (time: Int64, isDamage: Bool)?

    init(_ recipe: inout Recipe, _ model: inout ReceiverModel, length: Int) {
        self.way = recipe.pick([
            (weight: 4, value: .plain), (weight: 3, value: .automatic), (weight: 5, value: .by(.tus)),
            (weight: 3, value: .by(.ietf6)), (weight: 2, value: .by(.ietf5)), (weight: 1, value: .by(.ietf3)),
        ])
        if recipe.draw(0...4) == 0, self.way != .by(.tus) { self.method = "POST" }
        self.hasJournal = recipe.draw(0...4) > 0
        if recipe.draw(0...4) == 0 { self.checksum = .sha256 }
        self.asksFrom = recipe.pick([1 << 20, 1 << 20, 1, nil])
        self.lanes = recipe.draw(1...2)
        self.options.retries = recipe.pick([0, 1, 2, 5, 5])
        self.options.retryWait = recipe.pick([.zero, .zero, .milliseconds(100), .seconds(2)])
        self.options.stallTimeout = .seconds(recipe.pick([8, 30, 60]))
        self.options.connectTimeout = .seconds(recipe.pick([5, 30]))
        let outage = recipe.pick([60, 600])
        if recipe.draw(0...1) == 0 { self.options.outageTimeout = .seconds(outage) }
        let total = recipe.draw(1...60)
        if recipe.has(oneIn: 20, "the user allows \(total) s") { self.options.totalTimeout = .seconds(total) }
        self.triesAgain = recipe.draw(0...2) > 0
        self.drawServer(&recipe, &model, length)
        self.drawEvents(&recipe, length)
        let twin = Int64(recipe.draw(0...1500)) * 1_000_000
        if recipe.has(oneIn: 12, "a second process uploads the same file after \(twin / 1_000_000) ms") {
            self.twinDelay = twin
        }
        let loss = Int64(recipe.draw(0...3000)) * 1_000_000
        let isDamage = recipe.draw(0...2) == 0
        let text = "after \(loss / 1_000_000) ms another program \(isDamage ? "damages" : "deletes") the journal"
        if recipe.has(oneIn: 12, text) { self.journalLoss = (loss, isDamage) }
    }

    private func drawServer(_ recipe: inout Recipe, _ model: inout ReceiverModel, _ length: Int) {
        let knowsProtocol = recipe.draw(0...9) > 0
        let other = recipe.draw(0...3) == 0
        switch self.way {
        case .plain: model.speaksTus = other
        case .automatic:
            model.speaksTus = recipe.draw(0...2) > 0
            if recipe.draw(0...1) == 0 { model.drafts = [6] }
        case .by(.tus): model.speaksTus = knowsProtocol
        case .by(let draft): model.drafts = knowsProtocol ? [draft.interopVersion ?? 6] : []
        }
        model.checks = recipe.draw(0...1) == 0
        model.sendsDigests = recipe.draw(0...1) == 0
        model.sendsInterim = recipe.draw(0...4) > 0
        if recipe.draw(0...3) == 0 { model.lifetime = Int64(recipe.draw(1...86_400)) }
        if recipe.has(oneIn: 6, "the server does not overwrite what exists") { model.refusesOverwriting = true }
        let limit = Int64(recipe.draw(0...max(1, 2 * length)))
        if recipe.has(oneIn: 25, "the server accepts \(limit) bytes") { model.limit = limit }
    }

    private mutating func drawEvents(_ recipe: inout Recipe, _ length: Int) {
        for rarity in [6, 12] {
            let moment = Moment(&recipe, length: length)
            let pause = Int64(recipe.draw(0...3000)) * 1_000_000
            let rate = Int64(recipe.draw(20...400)) << 10
            let action = recipe.pick([
                (weight: 4, value: Action.pause(for: pause)), (weight: 2, value: .cancel(keeping: false)),
                (weight: 1, value: .cancel(keeping: true)),
                (weight: 2, value: .rate(recipe.draw(0...2) == 0 ? nil : rate)),
            ])
            if recipe.has(oneIn: rarity, "\(moment.text) the user \(action.text)") {
                self.actions.append((moment, action))
            }
        }
        for rarity in [5, 15] {
            let moment = Moment(&recipe, length: length)
            let change = recipe.pick([
                SimulatedSource.Change.overwrites, .overwrites, .appends, .shortens, .empties, .replaces, .removes,
                .rewrites,
            ])
            if recipe.has(oneIn: rarity, "\(moment.text) another program \(change.rawValue)") {
                self.changes.append((moment, change))
            }
        }
        for rarity in [4, 4, 5] {
            let isBefore = recipe.draw(0...1) == 0
            let kill = recipe.pick([
                Kill.time(Int64(recipe.draw(0...1500)) * 1_000_000), .call(recipe.draw(1...12), isBefore: isBefore),
                .bytes(Int64(recipe.draw(0...max(1, length)))), .bytes(Int64(length)),
            ])
            let losesPower = recipe.draw(0...3) == 0
            let text = losesPower ? "the machine loses its power" : "the process is killed"
            if recipe.has(oneIn: rarity, "\(text) \(kill.text)") { self.kills.append((kill, losesPower)) }
        }
    }

    /// The user's command in one line.
    var text: String {
        let protocolName =
            switch self.way {
            case .plain: "one request"
            case .automatic: "any protocol"
            case .by(let speaks): speaks.rawValue
            }
        return "\(self.method) by \(protocolName)" + (self.hasJournal ? ", with a journal" : "")
            + (self.checksum == nil ? "" : ", with checksums") + ", \(self.options.retries) retries"
    }
}

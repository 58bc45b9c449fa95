// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import MartletSystemTransport

@Suite("The flow of an exchange on a task of URLSession")
struct FlowTests {
    private typealias Flow = ExchangeFlow<Int>

    private static func head(_ framing: BodyFraming) -> Result<ResponseHead, TransportError> {
        .success(ResponseHead(status: 200, framing: framing))
    }

    private static func text(_ delivery: Flow.Delivery) -> String {
        switch delivery {
        case .connected: "connected"
        case .interim(let status, _): "interim \(status)"
        case .head: "head"
        case .body(let chunk): "body \(chunk)"
        case .ended(let cleanly): "ended \(cleanly)"
        case .failed(let error): "failed \(error.code)"
        }
    }

    /// Takes what is to be delivered, and reads on.
    private static func drain(_ flow: inout Flow, _ decision: ReadDecision = .read) -> [String] {
        var texts: [String] = []
        while let delivery = flow.next() {
            texts.append(self.text(delivery))
            switch delivery {
            case .head, .body: flow.delivered(decision)
            default: break
            }
        }
        return texts
    }

    @Test("a response is delivered in order and ends cleanly by its length") func plain() {
        var flow = Flow(limit: 100, canSuspend: true)
        flow.interimReceived(103, [:])
        flow.headReceived(Self.head(.length(30)))
        for chunk in 0..<3 { flow.bodyReceived(chunk, count: 10) }
        flow.completed(nil)
        #expect(
            Self.drain(&flow) == ["connected", "interim 103", "head", "body 0", "body 1", "body 2", "ended true"]
        )
        #expect(flow.takeCommands() == [] && flow.isOver)
    }

    @Test("a response without a length does not end cleanly") func unknownLength() {
        var flow = Flow(limit: 100, canSuspend: true)
        flow.headReceived(Self.head(.untilClose))
        flow.bodyReceived(0, count: 10)
        flow.completed(nil)
        #expect(Self.drain(&flow).last == "ended false")
    }

    @Test("a short response is truncated, a long one malformed, one without a head malformed") func wrongLengths() {
        var short = Flow(limit: 100, canSuspend: true)
        short.headReceived(Self.head(.length(30)))
        short.bodyReceived(0, count: 10)
        short.completed(nil)
        #expect(Self.drain(&short).suffix(2) == ["body 0", "failed truncated"])
        var long = Flow(limit: 100, canSuspend: true)
        long.headReceived(Self.head(.length(5)))
        long.bodyReceived(0, count: 10)
        #expect(Self.drain(&long) == ["connected", "head", "failed malformed"] && long.takeCommands() == [.cancel])
        var none = Flow(limit: 100, canSuspend: true)
        none.completed(nil)
        #expect(Self.drain(&none) == ["failed malformed"])
    }

    @Test("a paused receiver suspends the task, and gets what is kept before the task is resumed") func backPressure() {
        var flow = Flow(limit: 100, canSuspend: true)
        flow.headReceived(Self.head(.length(40)))
        #expect(Self.drain(&flow) == ["connected", "head"])
        flow.bodyReceived(0, count: 10)
        #expect(Self.drain(&flow, .pause) == ["body 0"] && flow.takeCommands() == [.suspend])
        // Bytes that were on their way when the task was suspended.
        flow.bodyReceived(1, count: 10)
        #expect(flow.next() == nil && flow.takeCommands() == [] && flow.bufferedBytes == 10)
        flow.resumed()
        #expect(Self.drain(&flow) == ["body 1"] && flow.takeCommands() == [.resume])
    }

    @Test("a task that cannot be suspended is cut at the limit, and what is kept is delivered") func limit() {
        var flow = Flow(limit: 25, canSuspend: false)
        flow.headReceived(Self.head(.length(1000)))
        #expect(Self.drain(&flow, .pause) == ["connected", "head"])
        for chunk in 0..<9 { flow.bodyReceived(chunk, count: 10) }
        #expect(flow.takeCommands() == [.cancel] && flow.bufferedBytes == 30)
        flow.completed(TransportError(.cancelled, "cancelled"))
        flow.resumed()
        #expect(Self.drain(&flow) == ["body 0", "body 1", "body 2", "failed truncated"])
    }

    @Test("a task that the system starts again is cut: its bytes are those of the beginning") func restart() {
        var flow = Flow(limit: 100, canSuspend: true)
        flow.headReceived(Self.head(.length(40)))
        flow.bodyReceived(0, count: 10)
        flow.headReceived(Self.head(.length(40)))
        flow.bodyReceived(1, count: 10)
        #expect(Self.drain(&flow) == ["connected", "head", "body 0", "failed truncated"])
        #expect(flow.takeCommands() == [.cancel])
    }

    @Test("a declined challenge ends with the response that has arrived") func challenge() {
        let cancelled = TransportError(.cancelled, "cancelled")
        for (declines, framing) in [(true, BodyFraming.untilClose), (true, .length(10)), (false, .length(10))] {
            var flow = Flow(limit: 100, canSuspend: true)
            flow.headReceived(Self.head(framing))
            flow.bodyReceived(0, count: 10)
            if declines { flow.challengeDeclined() }
            flow.completed(cancelled)
            #expect(Self.drain(&flow).last == "ended \(framing == .length(10))")
        }
        var other = Flow(limit: 100, canSuspend: true)
        other.headReceived(Self.head(.untilClose))
        other.completed(cancelled)
        #expect(Self.drain(&other).last == "failed cancelled")
    }

    @Test("the deadline ends a request without a response only") func deadline() {
        let error = TransportError(.connectTimeout, "late")
        var flow = Flow(limit: 100, canSuspend: true)
        flow.deadlinePassed(error)
        #expect(Self.drain(&flow) == ["failed connectTimeout"] && flow.takeCommands() == [.cancel])
        var sending = Flow(limit: 100, canSuspend: true)
        sending.connected()
        sending.deadlinePassed(error)
        #expect(Self.drain(&sending) == ["connected"] && sending.takeCommands() == [])
    }

    /// The reports and decisions of a random walk, from which the receiver's calls follow.
    private struct History {
        var chunks: [Int] = []
        var declared: Int64?
        var hasHead = false
        var hasTaskEnded = false
        var isClosed = false
        var isPaused = false
        var calls: [String] = []
        var commands: [Flow.Command] = []

        func check(_ seed: UInt64) {
            var rest = self.calls[...]
            if rest.first == "connected" { rest = rest.dropFirst() }
            if rest.first == "head" { rest = rest.dropFirst() }
            let bodies = rest.prefix { $0.hasPrefix("body") }
            #expect(Array(bodies) == self.chunks.prefix(bodies.count).map { "body \($0)" }, "seed \(seed)")
            rest = rest.dropFirst(bodies.count)
            #expect(
                rest.count <= 1 && (rest.first.map { !$0.hasPrefix("body") } ?? true),
                "seed \(seed): \(self.calls)"
            )
            if rest.first == "ended true" {
                #expect(Int64(bodies.count) == self.declared, "seed \(seed): an end before the last byte")
            }
            if rest.first == "ended false" {
                #expect(bodies.count == self.chunks.count, "seed \(seed): bytes are missing")
            }
            let isOver = self.isClosed || !rest.isEmpty
            #expect(isOver || !self.hasTaskEnded, "seed \(seed): no end")
            let moves = self.commands.prefix { $0 != .cancel }
            #expect(self.commands.count - moves.count <= 1, "seed \(seed): \(self.commands)")
            for (index, command) in moves.enumerated() {
                #expect(command == (index % 2 == 0 ? .suspend : .resume), "seed \(seed): \(self.commands)")
            }
        }
    }

    @Test("any order of reports and decisions keeps the port's order, and loses or repeats no byte") func walks() {
        for seed in 0..<4000 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var flow = Flow(limit: 4, canSuspend: seed % 2 == 0)
            var history = History()
            for _ in 0..<Int.random(in: 1...30, using: &random) {
                switch Int.random(in: 0..<12, using: &random) {
                case 0, 1:
                    let isAgain = history.hasHead
                    let length = Bool.random(using: &random) ? Int64.random(in: 0...8, using: &random) : nil
                    if !isAgain { (history.hasHead, history.declared) = (true, length) }
                    if !history.hasTaskEnded { flow.headReceived(Self.head(length.map { .length($0) } ?? .untilClose)) }
                case 2...6:
                    guard !history.hasTaskEnded else { break }
                    // After a failure the flow ignores more: the calls are a prefix of the chunks.
                    if history.hasHead { history.chunks.append(history.chunks.count) }
                    flow.bodyReceived(history.chunks.last ?? 0, count: 1)
                case 7 where Int.random(in: 0..<3, using: &random) == 0:
                    guard !history.hasTaskEnded else { break }
                    history.hasTaskEnded = true
                    flow.completed(Bool.random(using: &random) ? nil : TransportError(.reset, "reset"))
                case 8 where Int.random(in: 0..<6, using: &random) == 0:
                    history.isClosed = true
                    flow.cancelled()
                default:
                    history.isPaused = false
                    flow.resumed()
                }
                self.deliver(&flow, &history, &random, isLast: false)
                #expect(flow.bufferedBytes <= 5, "seed \(seed): \(flow.bufferedBytes) bytes are kept")
            }
            flow.resumed()
            history.isPaused = false
            self.deliver(&flow, &history, &random, isLast: true)
            history.check(seed)
        }
    }

    private func deliver(
        _ flow: inout Flow,
        _ history: inout History,
        _ random: inout SeededGenerator,
        isLast: Bool
    ) {
        while let delivery = flow.next() {
            #expect(!history.isPaused && !history.isClosed, "a call of a receiver that does not read")
            history.calls.append(Self.text(delivery))
            switch delivery {
            case .head, .body:
                let draw = isLast ? 9 : Int.random(in: 0..<10, using: &random)
                if draw == 0 { history.isClosed = true }
                if (1...3).contains(draw) { history.isPaused = true }
                flow.delivered(draw == 0 ? .close : draw < 4 ? .pause : .read)
            default: break
            }
        }
        history.commands += flow.takeCommands()
    }
}

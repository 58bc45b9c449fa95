// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore
import TransferTesting

@testable import Martlet

struct OutboxTests {
    /// A command, so that two can be compared.
    private static func text(_ command: Outbox.Command) -> String {
        switch command {
        case .add(let transfer): "add \(transfer.id?.rawValue ?? 0)"
        case .change(let id, let kind, let parameters): "\(kind.method.dropFirst(8)) \(id.rawValue) \(parameters.text)"
        case .configure(let parameters): "configure \(parameters.text)"
        case .finishEvents(let parameters): "finish \(parameters.text)"
        }
    }

    private static func text(_ commands: [Outbox.Command]?) -> [String]? { commands?.map { Self.text($0) } }

    private static func add(_ number: UInt64) -> Outbox.Command {
        .add(NewTransfer(id: GID(rawValue: number), urls: ["http://example.com/\(number)"]))
    }

    private static func pause(_ number: UInt64, _ text: String = "") -> Outbox.Command {
        .change(TransferID(number), .running("martlet.pause"), .string(text))
    }

    private static func resume(_ number: UInt64) -> Outbox.Command {
        .change(TransferID(number), .running("martlet.resume"), .string(""))
    }

    private func next(_ outbox: inout Outbox) -> [String]? { Self.text(outbox.next()) }

    @Test("what is said is sent in order, transfers together, and one thing at a time")
    func order() {
        var outbox = Outbox()
        for command in [Self.add(1), Self.add(2), Self.pause(1), Self.add(3)] { outbox.put(command) }
        #expect(self.next(&outbox) == ["add 1", "add 2"])
        #expect(self.next(&outbox) == nil)
        outbox.answered()
        #expect(self.next(&outbox) == [#"pause 1 """#])
        outbox.answered()
        #expect(self.next(&outbox) == ["add 3"])
        outbox.answered()
        #expect(outbox.isEmpty)
        #expect(self.next(&outbox) == nil)
    }

    @Test("a batch has at most so many transfers")
    func limit() {
        var outbox = Outbox()
        for number in 1...UInt64(Outbox.batchLimit + 1) { outbox.put(Self.add(number)) }
        #expect(self.next(&outbox)?.count == Outbox.batchLimit)
        outbox.answered()
        #expect(self.next(&outbox) == ["add \(Outbox.batchLimit + 1)"])
    }

    @Test("a later change of one kind takes the place of the one that waits, and never of one that is being sent")
    func replaced() {
        var outbox = Outbox()
        outbox.put(Self.pause(1))
        outbox.put(Self.pause(2))
        outbox.put(Self.resume(1))
        #expect(self.next(&outbox) == [#"resume 1 """#])
        outbox.put(Self.pause(1))
        outbox.answered()
        #expect(self.next(&outbox) == [#"pause 2 """#])
        outbox.answered()
        #expect(self.next(&outbox) == [#"pause 1 """#])
        outbox.answered()
        #expect(outbox.isEmpty)
        outbox.put(.configure(1))
        outbox.put(.configure(2))
        #expect(self.next(&outbox) == ["configure 2"])
    }

    @Test("what was sent when the connection was lost is sent again")
    func lost() {
        var outbox = Outbox()
        outbox.put(Self.add(1))
        _ = outbox.next()
        outbox.put(Self.add(2))
        outbox.lost()
        #expect(outbox.isAdding(TransferID(1)))
        #expect(self.next(&outbox) == ["add 1", "add 2"])
        outbox.answered()
        #expect(!outbox.isAdding(TransferID(1)))
    }

    @Test("transfers that were refused together are sent alone, and those after them together again")
    func divided() {
        var outbox = Outbox()
        for number in 1...3 as ClosedRange<UInt64> { outbox.put(Self.add(number)) }
        _ = outbox.next()
        for number in 4...5 as ClosedRange<UInt64> { outbox.put(Self.add(number)) }
        outbox.divide()
        for number in 1...3 {
            #expect(self.next(&outbox) == ["add \(number)"])
            outbox.answered()
        }
        #expect(self.next(&outbox) == ["add 4", "add 5"])
    }

    @Test("a transfer is concerned as long as its coming, running or going is not answered")
    func concerned() {
        var outbox = Outbox()
        let id = TransferID(1)
        #expect(!outbox.concerns(id))
        outbox.put(.change(id, .priority, 1))
        #expect(!outbox.concerns(id))
        outbox.put(.change(id, .removal, 1))
        #expect(outbox.concerns(id))
        for _ in 0..<2 {
            _ = outbox.next()
            outbox.answered()
        }
        #expect(!outbox.concerns(id))
    }

    @Test("a random walk agrees with a list of what is to be said", arguments: 0..<20 as Range<UInt64>)
    func walk(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (outbox, model) = (Outbox(), OutboxModel())
        var added: UInt64 = 0
        for step in 0..<2000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...4:
                var command = Outbox.Command.configure(.integer(Int64(step)))
                let id = UInt64.random(in: 1...6, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0, 1:
                    added += 1
                    command = Self.add(added)
                case 2: command = Self.pause(id, "\(step)")
                case 3: command = .change(TransferID(id), .removal, .integer(Int64(step)))
                default: break
                }
                outbox.put(command)
                model.put(Self.text(command))
            case 5...6: #expect(self.next(&outbox) == model.next())
            case 7...8 where model.inFlight > 0:
                outbox.answered()
                model.answered()
            case 9 where model.inFlight > 1 && Bool.random(using: &random):
                outbox.divide()
                model.divide()
            case 9:
                outbox.lost()
                model.inFlight = 0
            default: break
            }
            #expect(outbox.isEmpty == model.commands.isEmpty)
            for id in 1...6 as ClosedRange<UInt64> {
                #expect(outbox.concerns(TransferID(id)) == model.concerns(id))
            }
            #expect(outbox.isAdding(TransferID(added)) == model.commands.contains("add \(added)"))
        }
    }
}

/// The behaviour of an outbox, by a scan of all its commands.
private struct OutboxModel {
    var commands: [String] = []
    var inFlight = 0
    var alone = 0

    /// The key of two commands of which only the later one is sent.
    private func key(_ command: String) -> Substring? {
        if command.hasPrefix("add") { return nil }
        if command.hasPrefix("configure") { return "configure" }
        return command[..<(command.lastIndex(of: " ") ?? command.endIndex)]
    }

    mutating func put(_ command: String) {
        let key = self.key(command)
        let place = self.commands.indices.last { self.key(self.commands[$0]) == key }
        if key != nil, let place, place >= self.inFlight {
            self.commands[place] = command
        } else {
            self.commands.append(command)
        }
    }

    mutating func next() -> [String]? {
        guard self.inFlight == 0, let first = self.commands.first else { return nil }
        let together = self.commands.prefix { $0.hasPrefix("add") }.prefix(Outbox.batchLimit)
        self.inFlight = first.hasPrefix("add") && self.alone == 0 ? together.count : 1
        return Array(self.commands.prefix(self.inFlight))
    }

    mutating func answered() {
        self.commands.removeFirst(self.inFlight)
        self.alone = max(0, self.alone - self.inFlight)
        self.inFlight = 0
    }

    mutating func divide() {
        self.alone = max(self.alone, self.inFlight)
        self.inFlight = 0
    }

    func concerns(_ id: UInt64) -> Bool {
        self.commands.contains { $0 == "add \(id)" || $0.hasPrefix("pause \(id) ") || $0.hasPrefix("remove \(id) ") }
    }
}

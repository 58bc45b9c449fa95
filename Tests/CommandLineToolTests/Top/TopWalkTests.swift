// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferTesting

@testable import CommandLineTool

/// Random events against the rules that must always hold.
@Suite(.timeLimit(.minutes(2))) struct TopWalkTests {
    private static let keys: [TopKey] =
        [
            .enter, .escape, .backspace, .delete, .tab, .backTab, .up, .down, .left, .right, .home, .end, .pageUp,
            .pageDown, .shiftUp, .shiftDown, .control("l"), .control("u"), .control("w"), .control("f"), .control("b"),
            .paste("http://h/x\ny\u{1B}[2J"), .paste(String(repeating: "界", count: 9000)),
        ] + "aprtduPRTD+-<>/sl?123456jkgGynxqNYX 0é界\u{301}".map { .character($0) }

    @Test(arguments: 0..<40)
    func anyEventsLeaveAScreenOfTheRightSizeAndOneRequestAtATime(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var world = TopWorld(columns: 80, rows: 24)
        let screens = [TopScreen(unicode: true), TopScreen(unicode: false)]
        var painter = TopPainter(colour: seed % 2 == 0)
        var terminal = TerminalDouble(columns: 80, rows: 24)
        for _ in 0..<250 {
            self.step(&world, &random)
            #expect(world.openLoads <= 1 && world.openCalls <= 1)
            let window = world.model.window
            #expect(window.top >= 0 && window.cursor >= 0 && window.cursor < max(1, window.total))
            if window.height > 0, window.total > 0 {
                #expect((window.top..<window.top + window.height).contains(window.cursor))
            }
            if let current = window.current { #expect(window.record(at: window.cursor)?.id == current.id) }
            let screen = screens[Int(seed) % 2]
            let frame = screen.frame(world.model)
            Self.check(frame, world.model, unicode: screen.unicode)
            let size = (world.model.columns, world.model.rows)
            let isResized = size != (terminal.columns, terminal.rows)
            if isResized { terminal = TerminalDouble(columns: size.0, rows: size.1) }
            terminal.write(painter.text(for: frame, repaints: isResized))
            #expect(terminal.unknown.isEmpty)
            for (row, line) in frame.lines.enumerated() { #expect(terminal.text(row) == line.text) }
            if let cursor = frame.cursor {
                #expect(terminal.cursor == (cursor.row, cursor.column) && terminal.showsCursor)
            }
        }
    }

    private func step(_ world: inout TopWorld, _ random: inout SeededGenerator) {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<10: world.handle(.key(Self.keys.randomElement(using: &random) ?? .enter))
        case 10: world.tick([0, 0.5, 1, 400].randomElement(using: &random) ?? 1)
        case 11...12:
            let failure: ControlError? =
                Int.random(in: 0..<8, using: &random) == 0
                ? ControlError(.notRunning, TopWorld.texts.randomElement(using: &random) ?? "", remedy: "start one")
                : nil
            world.answerLoad(failure)
        case 13: world.settle()
        case 14:
            let text = TopWorld.texts.randomElement(using: &random) ?? ""
            let isGood = Bool.random(using: &random)
            world.answerCall(isGood ? .success(text) : .failure(ControlError(.wrongState, text, remedy: text)))
        case 15:
            let sizes = [0, 1, 2, 3, 5, 8, 10, 20, 24, 40, 63, 80, 100, 200, Int.max, -1]
            let isLarge = Int.random(in: 0..<10, using: &random) == 0
            let size = { (random: inout SeededGenerator) in
                sizes.prefix(isLarge ? sizes.count : 13).randomElement(using: &random) ?? 0
            }
            world.handle(.resized(columns: size(&random), rows: min(60, size(&random))))
        case 16: world.handle(.disturbed)
        case 17...18:
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let record = TopWorld.randomRecord(&random)
                world.records.removeAll { $0.id == record.id }
                world.records.insert(record, at: Int.random(in: 0...world.records.count, using: &random))
            }
        default:
            if world.records.count > 1 {
                world.records.removeFirst(Int.random(in: 1..<world.records.count, using: &random))
            }
            world.features.canSearch = Bool.random(using: &random)
        }
    }

    private static func check(_ frame: TopFrame, _ model: TopModel, unicode: Bool) {
        #expect(frame.lines.count == model.rows)
        for line in frame.lines {
            #expect(line.columns == model.columns)
            #expect(DisplayWidth.of(line.text) == model.columns, "\(line.text.debugDescription)")
            for scalar in line.text.unicodeScalars {
                let isSafe = scalar.value >= 0x20 && !(0x7F..<0xA0).contains(scalar.value) && scalar != "\u{202E}"
                #expect(isSafe && (unicode || scalar.isASCII), "\(line.text.debugDescription)")
            }
        }
        if let cursor = frame.cursor {
            #expect((0..<model.rows).contains(cursor.row) && (0..<model.columns).contains(cursor.column))
        }
    }

    @Test(arguments: 0..<30)
    func theSelectionFollowsItsTransferWhileRowsMove(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var world = TopWorld(columns: 80, rows: 24, count: 40)
        world.settle()
        for _ in 0..<100 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: world.records.shuffle(using: &random)
            case 1: world.records.remove(at: Int.random(in: 0..<world.records.count, using: &random))
            case 2:
                let place = Int.random(in: 0...world.records.count, using: &random)
                let number = UInt64.random(in: 1000...1 << 40, using: &random)
                world.records.insert(TopWorld.record(number), at: place)
            default: world.press(Bool.random(using: &random) ? .down : .pageUp)
            }
            world.settle()
            let selected = world.model.window.selected
            world.tick()
            let request = world.loads.last ?? TopRequest()
            let answer = world.records.dropFirst(request.offset).prefix(request.limit)
            let isLoaded = answer.contains { $0.id == selected }
            world.settle()
            let window = world.model.window
            if isLoaded { #expect(window.selected == selected) }
            #expect(window.selected == world.records[window.cursor].id)
        }
    }
}

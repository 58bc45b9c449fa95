// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite struct RecordingMachineTests {
    private static func append(_ bytes: [UInt8], to machine: inout RecordingMachine) -> RecordingMachine.Step {
        bytes.withUnsafeBytes { machine.append($0) }
    }

    /// A reader that appends while it may, and a disk that writes the oldest block at some time.
    @Test("Every byte is written once and in order, and a paused reader continues", arguments: 0..<10)
    func walk(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var machine = RecordingMachine(expected: nil, limit: 1 << 40)
        var appended: [UInt8] = []
        var written: [UInt8] = []
        var blocks: [[UInt8]] = []
        var isPaused = false
        var next: UInt8 = 0
        for _ in 0..<200 {
            if Int.random(in: 0..<10, using: &random) < 6 {
                // A paused exchange may still deliver what it has read.
                guard !isPaused || Int.random(in: 0..<4, using: &random) == 0 else { continue }
                next &+= 1
                let bytes = [UInt8](repeating: next, count: Int.random(in: 0...200_000, using: &random))
                appended += bytes
                switch Self.append(bytes, to: &machine) {
                case .nothing: break
                case .write(let block, let pauses):
                    #expect(block.count >= RecordingMachine.block)
                    blocks.append(block)
                    let waiting = blocks.map(\.count).reduce(0, +)
                    #expect(pauses || waiting <= RecordingMachine.high)
                    if pauses { isPaused = true }
                case .tooLong: Issue.record("the limit was not reached")
                }
            } else if !blocks.isEmpty {
                let block = blocks.removeFirst()
                written += block
                let continues = machine.wrote(block.count)
                let waiting = blocks.map(\.count).reduce(0, +)
                #expect(continues == (isPaused && waiting <= RecordingMachine.low))
                if continues { isPaused = false }
            }
        }
        let rest = machine.finish()
        written += blocks.joined() + (rest ?? [])
        #expect(written == appended)
        let second = machine.finish()
        let continues = machine.end()
        #expect(second == nil)
        #expect(continues == isPaused)
        #expect(machine.hasEnded)
    }

    @Test func aBodyAboveTheLimitIsNotStored() {
        var machine = RecordingMachine(expected: 4, limit: 4)
        let fitting = Self.append([1, 2, 3, 4], to: &machine)
        #expect(fitting == .nothing && machine.isComplete)
        let above = Self.append([5], to: &machine)
        #expect(above == .tooLong)
        let continues = machine.end()
        let rest = machine.finish()
        let later = Self.append([6], to: &machine)
        #expect(!continues && rest == nil && later == .nothing)
    }

    @Test func anAbandonedBodyReleasesItsReaderOnce() {
        var machine = RecordingMachine(expected: nil, limit: 1 << 40)
        let block = [UInt8](repeating: 1, count: RecordingMachine.high + 1)
        let step = Self.append(block, to: &machine)
        #expect(step == .write(block, pauses: true))
        let first = machine.end()
        let second = machine.wrote(block.count)
        #expect(first && !second)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@Suite("FirstInFirstOut")
struct FirstInFirstOutTests {
    @Test("Random operations give the same as an array", arguments: 0..<8 as Range<UInt64>)
    func walk(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = FirstInFirstOut<Int>()
        var model: [Int] = []
        for step in 0..<4000 {
            switch random.next() % 16 {
            case 0...6:
                queue.append(step)
                model.append(step)
            case 7:
                queue.prepend(step)
                model.insert(step, at: 0)
            case 8...13: #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            case 14:
                let divisor = Int(random.next() % 7) + 2
                let last = model.lastIndex { $0 % divisor == 0 }
                func isChosen(_ element: Int) -> Bool { element % divisor == 0 }
                let changed: Void? = queue.changeLast(where: isChosen) { $0 += 1 }
                #expect((changed != nil) == (last != nil))
                if let last { model[last] += 1 }
            default:
                // Seldom, or the queue stays short.
                guard random.next() % 64 == 0 else { break }
                queue.removeAll { $0 % 3 == 0 }
                model.removeAll { $0 % 3 == 0 }
            }
            #expect(queue.count == model.count)
            #expect(queue.isEmpty == model.isEmpty)
            #expect(queue.first == model.first)
        }
        while let element = queue.popFirst() { #expect(element == model.removeFirst()) }
        #expect(model.isEmpty)
    }
}

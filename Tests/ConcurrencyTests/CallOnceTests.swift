// SPDX-License-Identifier: Apache-2.0
import Concurrency
import Synchronization
import Testing

@Suite("Calls that happen once")
struct CallOnceTests {
    /// Counts calls.
    private final class Count: Sendable {
        private let number = Mutex(0)

        var value: Int { self.number.withLock { $0 } }

        func add() { self.number.withLock { $0 += 1 } }
    }

    @Test("the closure is called by the first call alone, which is told so")
    func once() {
        let count = Count()
        let call = CallOnce { count.add() }
        #expect(call.now())
        #expect(!call.now() && count.value == 1)
    }

    @Test("the last of several calls calls it")
    func countsDown() {
        let count = Count()
        let call = CallOnce(after: 3) { count.add() }
        #expect(!call.now() && !call.now() && count.value == 0)
        #expect(call.now() && count.value == 1)
        #expect(!call.now() && count.value == 1)
    }

    @Test("a release calls it if nothing else has", arguments: 0...2)
    func release(calls: Int) {
        let count = Count()
        var call: CallOnce? = CallOnce(after: 2) { count.add() }
        for _ in 0..<calls { call?.now() }
        #expect(count.value == (calls == 2 ? 1 : 0))
        call = nil
        #expect(count.value == 1)
    }

    @Test("of many threads, one calls it")
    func threads() async {
        let (count, firsts) = (Count(), Count())
        let call = CallOnce { count.add() }
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { if call.now() { firsts.add() } } }
        }
        #expect(count.value == 1 && firsts.value == 1)
    }
}

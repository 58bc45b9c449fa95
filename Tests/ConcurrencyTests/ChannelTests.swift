// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing

@testable import Concurrency

@Suite("Channels", .timeLimit(.minutes(1)))
struct ChannelTests {
    struct Broken: Error, Equatable {}

    private final class Taken: Sendable {
        private let numbers = Mutex<[Int]>([])

        var sorted: [Int] { self.numbers.withLock { $0.sorted() } }

        func add(_ number: Int) { self.numbers.withLock { $0.append(number) } }
    }

    typealias Numbers = Channel<BoundedBuffer<Int>, Never>

    private func numbers(_ capacity: Int = 100, _ overflow: BoundedBuffer<Int>.Overflow = .dropOldest) -> Numbers {
        Channel(BoundedBuffer(capacity: capacity, overflow: overflow))
    }

    /// Waits until the channel has this many waiting consumers.
    private func waiting(_ count: Int, on channel: Numbers) async {
        while channel.waiterCount < count { await Task.yield() }
    }

    @Test("Elements are delivered in order, and buffered ones before the end")
    func order() async {
        let channel = self.numbers()
        for number in 1...3 { #expect(channel.put(number)) }
        channel.finish()
        #expect(!channel.put(4))
        for number in 1...3 { #expect(await channel.next() == number) }
        #expect(await channel.next() == nil)
        #expect(await channel.next() == nil)
    }

    @Test("A failure is delivered after buffered elements, and stays; a later end changes nothing")
    func failure() async throws {
        let channel = Channel<BoundedBuffer<Int>, Broken>(BoundedBuffer(capacity: 5, overflow: .dropOldest))
        channel.put(1)
        channel.fail(Broken())
        channel.finish()
        #expect(try await channel.next() == 1)
        for _ in 0..<2 { await #expect(throws: Broken()) { try await channel.next() } }
    }

    @Test("A failure reaches those who wait")
    func failureWhileWaiting() async {
        let channel = Channel<BoundedBuffer<Int>, Broken>(BoundedBuffer(capacity: 5, overflow: .dropOldest))
        let consumer = Task { try await channel.next() }
        while channel.waiterCount < 1 { await Task.yield() }
        channel.fail(Broken())
        await #expect(throws: Broken()) { try await consumer.value }
    }

    @Test("Several consumers wait at once: each element goes to the one that waits longest, and the end to all")
    func severalConsumers() async {
        let channel = self.numbers()
        let first = Task { await channel.next() }
        await self.waiting(1, on: channel)
        let second = Task { await channel.next() }
        await self.waiting(2, on: channel)
        let third = Task { await channel.next() }
        await self.waiting(3, on: channel)
        channel.put(1)
        channel.put(2)
        #expect(await first.value == 1)
        #expect(await second.value == 2)
        channel.finish()
        #expect(await third.value == nil)
    }

    @Test("A cancelled consumer gets nil, and takes nothing from the others")
    func cancellation() async {
        let channel = self.numbers()
        let cancelled = Task { await channel.next() }
        await self.waiting(1, on: channel)
        let other = Task { await channel.next() }
        await self.waiting(2, on: channel)
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        channel.put(7)
        #expect(await other.value == 7)
        // The channel is still open.
        #expect(channel.put(8))
        #expect(await channel.next() == 8)
    }

    @Test("A consumer that is cancelled before it waits returns, and still takes what is there")
    func cancelledBefore() async {
        let channel = self.numbers()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let consumer = Task {
            for await _ in gate {}
            let early = await channel.next()
            channel.put(5)
            return (early, await channel.next())
        }
        consumer.cancel()
        open.finish()
        let (early, late) = await consumer.value
        #expect(early == nil && late == 5)
    }

    @Test(
        "A full buffer drops the oldest, drops the newest, or ends the channel",
        arguments: [
            (BoundedBuffer<Int>.Overflow.dropOldest, [2, 3], true), (.dropNewest, [1, 2], true),
            (.end, [1, 2], false),
        ]
    )
    func overflow(_ overflow: BoundedBuffer<Int>.Overflow, _ kept: [Int], _ isOpen: Bool) async {
        let channel = self.numbers(2, overflow)
        #expect(channel.put(1) && channel.put(2))
        #expect(channel.put(3) == isOpen)
        channel.finish()
        var taken: [Int] = []
        while let number = await channel.next() { taken.append(number) }
        #expect(taken == kept)
    }

    @Test("Nothing is lost or doubled between many producers and consumers, some of them cancelled")
    func manyOfBoth() async {
        let channel = self.numbers(100_000)
        let taken = Taken()
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { while let number = await channel.next() { taken.add(number) } }
            }
            let cancelled = (0..<50)
                .map { _ in
                    Task { if let number = await channel.next() { taken.add(number) } }
                }
            await withTaskGroup { producers in
                for producer in 0..<4 {
                    producers.addTask { for number in 0..<5000 { channel.put(producer * 5000 + number) } }
                }
                for task in cancelled { task.cancel() }
            }
            for task in cancelled { await task.value }
            channel.finish()
        }
        #expect(taken.sorted == Array(0..<20_000))
    }

    @Test("A signal without a waiter is kept, and two signals are one")
    func signal() async {
        let signal = Signal()
        signal.send()
        signal.send()
        await signal.wait()
        let taken = Taken()
        let waiter = Task {
            await signal.wait()
            taken.add(1)
        }
        for _ in 0..<50 { await Task.yield() }
        #expect(taken.sorted == [])
        signal.send()
        await waiter.value
        let cancelled = Task { await signal.wait() }
        cancelled.cancel()
        await cancelled.value
    }
}

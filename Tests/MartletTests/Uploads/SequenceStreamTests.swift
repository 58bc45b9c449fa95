// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Martlet

@Suite("Streams of upload bodies", .timeLimit(.minutes(1)))
struct SequenceStreamTests {
    @Test("A stream that is cancelled before it is read never starts its sequence")
    func cancelledFirst() async {
        let (starts, continuation) = AsyncStream.makeStream(of: Bool.self)
        do {
            let stream = SequenceStream(Endless(onStart: { continuation.yield(true) }), length: nil)
            stream.cancel()
            stream.next { _ in continuation.yield(true) }
        }
        // The first element is the end, unless the sequence has started.
        Task {
            for _ in 0..<100 { await Task.yield() }
            continuation.finish()
        }
        #expect(await starts.first { _ in true } == nil)
    }

    /// A sequence that waits until its task is cancelled.
    private struct Endless: AsyncSequence, AsyncIteratorProtocol, Sendable {
        var onStart: @Sendable () -> Void

        func makeAsyncIterator() -> Self { self }

        mutating func next() async -> [UInt8]? {
            self.onStart()
            // A stream without elements ends its iteration only with the task's cancellation.
            let (stream, source) = AsyncStream.makeStream(of: Void.self)
            for await _ in stream {}
            withExtendedLifetime(source) {}
            return nil
        }
    }
}

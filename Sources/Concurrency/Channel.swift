// SPDX-License-Identifier: Apache-2.0
public import Synchronization

/// Passes elements from callers that never wait to Swift tasks that do.
///
/// Any number of producers and consumers may use a channel at once. Each element is delivered to one consumer; waiting
/// consumers are served in order of arrival. The buffer decides about elements that no consumer takes.
///
/// Public and inlinable, as ``DrainQueue`` is, and for the same reason.
public final class Channel<Buffer: ChannelBuffer, Failure: Error>: Sendable {
    /// The type of the elements.
    public typealias Element = Buffer.Element

    @usableFromInline
    typealias Outcome = Result<Element?, Failure>

    @usableFromInline
    struct Waiter {
        @usableFromInline
        var number: UInt64
        @usableFromInline
        var continuation: CheckedContinuation<Outcome, Never>

        @inlinable
        init(number: UInt64, continuation: CheckedContinuation<Outcome, Never>) {
            self.number = number
            self.continuation = continuation
        }
    }

    @usableFromInline
    struct State {
        @usableFromInline
        var buffer: Buffer
        /// The waiting consumers, the first one first; empty unless the buffer is empty.
        @usableFromInline
        var waiters: [Waiter] = []
        @usableFromInline
        var nextNumber: UInt64 = 0
        /// How the channel ended, if it has.
        @usableFromInline
        var end: Result<Void, Failure>?

        @inlinable
        init(_ buffer: Buffer) { self.buffer = buffer }

        @inlinable
        mutating func ended(_ end: Result<Void, Failure>) -> [Waiter] {
            guard self.end == nil else { return [] }
            self.end = end
            defer { self.waiters = [] }
            return self.waiters
        }
    }

    @usableFromInline
    let state: Mutex<State>

    /// Creates an open channel with the elements of a buffer.
    @inlinable
    public init(_ buffer: Buffer) { self.state = Mutex(State(buffer)) }

    /// Delivers an element to the first waiting consumer, or buffers it.
    ///
    /// - Returns: Whether the channel is still open.
    @inlinable
    @discardableResult
    public func put(_ element: Element) -> Bool {
        let (waiter, isOpen): (Waiter?, Bool) = self.state.withLock { state in
            guard state.end == nil else { return (nil, false) }
            // A consumer waits only while nothing is buffered, so that its element is the next one.
            if !state.waiters.isEmpty { return (state.waiters.removeFirst(), true) }
            guard state.buffer.append(element) else {
                state.end = .success(())
                return (nil, false)
            }
            return (nil, true)
        }
        waiter?.continuation.resume(returning: .success(element))
        return isOpen
    }

    /// Ends the channel; consumers get the buffered elements, and then `nil`.
    @inlinable
    public func finish() { self.finish(.success(())) }

    /// Ends the channel; consumers get the buffered elements, and then the failure.
    @inlinable
    public func fail(_ failure: Failure) { self.finish(.failure(failure)) }

    @inlinable
    func finish(_ end: Result<Void, Failure>) {
        let waiters = self.state.withLock { $0.ended(end) }
        for waiter in waiters { waiter.continuation.resume(returning: end.map { nil }) }
    }

    /// The number of waiting consumers.
    var waiterCount: Int { self.state.withLock { $0.waiters.count } }

    /// Returns the next buffered element without waiting, or `nil`.
    @inlinable
    public func poll() -> Element? { self.state.withLock { $0.buffer.popFirst() } }

    /// Waits for the next element.
    ///
    /// - Returns: The element, or `nil` after the end or if the surrounding task is cancelled; a cancellation leaves
    ///   the channel open.
    /// - Throws: The failure with which the channel ended.
    @inlinable
    public func next() async throws(Failure) -> Element? {
        if let element = self.poll() { return element }
        let number = self.state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: Outcome? = self.state.withLock { state in
                    if let element = state.buffer.popFirst() { return .success(element) }
                    if let end = state.end { return end.map { nil } }
                    // An earlier cancellation has not found this waiter.
                    if Task.isCancelled { return .success(nil) }
                    state.waiters.append(Waiter(number: number, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter: Waiter? = self.state.withLock { state in
                guard let index = state.waiters.firstIndex(where: { $0.number == number }) else { return nil }
                return state.waiters.remove(at: index)
            }
            waiter?.continuation.resume(returning: .success(nil))
        }
        return try outcome.get()
    }
}

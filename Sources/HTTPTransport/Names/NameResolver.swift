// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import NIOCore
internal import Platform
internal import Synchronization
internal import TransferCore

/// Resolves names on its own threads, many at once, with a cache.
///
/// getaddrinfo(3) blocks, for seconds if a name server does not respond. Each lookup has a thread, so a slow name does
/// not delay the others. Threads are started on demand, at most ``maximumThreads``, and end after ``lingering``.
final class NameResolver: Sendable {
    /// The result of a request.
    typealias Outcome = ResolverCache<[SocketAddress]>.Outcome

    /// A request that waits for its result.
    struct Ticket: Sendable {
        fileprivate let name: String
        fileprivate let number: UInt64
    }

    private struct State {
        var cache = ResolverCache<[SocketAddress]>()
        var waiters: [UInt64: @Sendable (Outcome) -> Void] = [:]
        var nextNumber: UInt64 = 0
        var threads = 0
        /// The threads that wait for a lookup and were not woken for one.
        var idle = 0
    }

    /// A thread that waits for a name server uses no processor time, and about 30 KB of memory.
    static let maximumThreads = 64
    /// The time after which a thread without lookups ends, in milliseconds.
    private static let lingering = 5_000

    private let state = Mutex(State())
    private let wakeUps = DispatchSemaphore(value: 0)
    private let lookUp: @Sendable (String) -> Outcome

    /// Creates a resolver without threads.
    ///
    /// - Parameter lookUp: Looks up a name and may block; by default getaddrinfo(3).
    init(lookUp: @escaping @Sendable (String) -> Outcome = { AddressLookup.addresses(of: $0) }) {
        self.lookUp = lookUp
    }

    /// Requests the addresses of a name, with port 0.
    ///
    /// - Parameters:
    ///   - name: The name, in lower case.
    ///   - maximumAge: The age up to which kept addresses are used, in nanoseconds.
    ///   - complete: Called once with the result, on the caller's thread or another one; not after
    ///     ``cancel(_:)``, except for a call in progress.
    /// - Returns: The request, for ``cancel(_:)``.
    func resolve(_ name: String, maximumAge: Int64, _ complete: @escaping @Sendable (Outcome) -> Void) -> Ticket {
        let now = Self.now
        let (ticket, outcome, starts): (Ticket, Outcome?, Bool) = self.state.withLock { state in
            state.nextNumber += 1
            let ticket = Ticket(name: name, number: state.nextNumber)
            let before = state.cache.lookupCount
            if let outcome = state.cache.request(name, by: ticket.number, maximumAge: maximumAge, now: now) {
                return (ticket, outcome, false)
            }
            state.waiters[ticket.number] = complete
            guard state.cache.lookupCount > before else { return (ticket, nil, false) }
            return (ticket, nil, self.engageThread(&state))
        }
        if let outcome { complete(outcome) }
        if starts { self.startThread() }
        return ticket
    }

    /// The result of a request is no longer needed.
    func cancel(_ ticket: Ticket) {
        self.state.withLock { state in
            guard state.waiters.removeValue(forKey: ticket.number) != nil else { return }
            state.cache.cancelled(ticket.number, of: ticket.name)
        }
    }

    /// No connection could be made to a name's addresses: the next request looks it up again.
    func addressesFailed(_ name: String) { self.state.withLock { $0.cache.addressesFailed(name) } }

    var threadCount: Int { self.state.withLock { $0.threads } }

    private static var now: Int64 { Int64(truncatingIfNeeded: NIODeadline.now().uptimeNanoseconds) }

    // MARK: Threads

    /// Wakes an idle thread for a lookup.
    ///
    /// - Returns: Whether a thread must be started in its place.
    private func engageThread(_ state: inout State) -> Bool {
        if state.idle > 0 {
            state.idle -= 1
            self.wakeUps.signal()
            return false
        }
        guard state.threads < Self.maximumThreads else { return false }
        state.threads += 1
        return true
    }

    private func startThread() {
        let status = SystemThread.start { self.work() }
        guard status != 0 else { return }
        // The other threads take the lookup; without any, it fails.
        let isAlone = self.state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        guard isAlone else { return }
        let failure = NameFailure(.localResource, "no thread can be started for the lookup (error \(status))")
        while let name = self.state.withLock({ $0.cache.takeLookup() }) { self.finish(name, .failure(failure)) }
    }

    private func work() {
        repeat {
            while let name = self.state.withLock({ $0.cache.takeLookup() }) { self.finish(name, self.lookUp(name)) }
        } while self.isNeeded()
    }

    /// Waits for a lookup; if none is added for a while, the thread must end.
    private func isNeeded() -> Bool {
        let hasWork = self.state.withLock { state in
            // A lookup may have been added since the thread found none, while all threads counted as busy.
            if state.cache.hasQueue { return true }
            state.idle += 1
            return false
        }
        if hasWork { return true }
        if self.wakeUps.wait(timeout: .now() + .milliseconds(Self.lingering)) == .success { return true }
        let ends = self.state.withLock { state in
            guard state.idle > 0 else { return false }
            state.idle -= 1
            state.threads -= 1
            return true
        }
        // If no thread counts as idle, one was woken for each; this one takes its own signal.
        if !ends { self.wakeUps.wait() }
        return !ends
    }

    private func finish(_ name: String, _ outcome: Outcome) {
        let now = Self.now
        let (completions, result) = self.state.withLock { state in
            let (waiters, result) = state.cache.finished(name, outcome, now: now)
            return (waiters.compactMap { state.waiters.removeValue(forKey: $0) }, result)
        }
        for complete in completions { complete(result) }
    }
}

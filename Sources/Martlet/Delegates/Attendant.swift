// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// The signal of a blocked thread, which makes pending calls of its own context while it waits.
final class Attendant: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let isWoken = Atomic(false)

    /// Ends the current or the next ``wait(until:)``.
    func wake() { if !self.isWoken.exchange(true, ordering: .acquiringAndReleasing) { self.semaphore.signal() } }

    /// Blocks the calling thread until it is woken.
    ///
    /// - Returns: Whether it was, before the time.
    func wait(until time: DispatchTime) -> Bool {
        guard self.semaphore.wait(timeout: time) == .success else { return false }
        self.isWoken.store(false, ordering: .sequentiallyConsistent)
        return true
    }
}

/// The blocked threads that wait for the calls of some delegates.
final class Attendants: Sendable {
    private let count = Atomic(0)
    private let waiting = Mutex<[ObjectIdentifier: Attendant]>([:])

    func add(_ attendant: Attendant) {
        self.waiting.withLock { $0[ObjectIdentifier(attendant)] = attendant }
        self.count.add(1, ordering: .sequentiallyConsistent)
    }

    func remove(_ attendant: Attendant) {
        self.count.subtract(1, ordering: .sequentiallyConsistent)
        self.waiting.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(attendant)) }
    }

    /// Wakes the threads, because there are new calls.
    func wake() {
        guard self.count.load(ordering: .sequentiallyConsistent) > 0 else { return }
        for attendant in self.waiting.withLock({ Array($0.values) }) { attendant.wake() }
    }
}

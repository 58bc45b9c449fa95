// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Foundation

/// The lane of a transport: a serial queue, on which the system calls the delegates of its sessions, too.
final class SystemLane: Sendable {
    let queue: DispatchQueue
    private let key = DispatchSpecificKey<ObjectIdentifier>()

    init(_ label: String) {
        self.queue = DispatchQueue(label: label)
        self.queue.setSpecific(key: self.key, value: ObjectIdentifier(self))
    }

    /// Whether the caller is on the lane.
    var isCurrent: Bool { DispatchQueue.getSpecific(key: self.key) == ObjectIdentifier(self) }

    /// Runs work immediately if the caller is on the lane, otherwise soon.
    func execute(_ work: @escaping @Sendable () -> Void) {
        if self.isCurrent { work() } else { self.queue.async(execute: work) }
    }

    /// Runs work on the lane later, even if the caller is on it.
    func later(_ work: @escaping @Sendable () -> Void) { self.queue.async(execute: work) }

    /// Runs work on the lane after a time.
    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        let nanoseconds =
            min(delay.components.seconds, 1_000_000_000) * 1_000_000_000
            + delay.components.attoseconds / 1_000_000_000
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds)), execute: work)
    }

    /// A queue for the delegate of a session, whose operations run on the lane one by one.
    func makeDelegateQueue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.underlyingQueue = self.queue
        return queue
    }
}

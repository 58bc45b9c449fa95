// SPDX-License-Identifier: Apache-2.0
/// Resumes a waiting task; a signal that is sent while no task waits is kept, and several are one.
package final class Signal: Sendable {
    private let channel = Channel<BoundedBuffer<Void>, Never>(BoundedBuffer(capacity: 1, overflow: .dropNewest))

    /// Creates a signal without a pending send.
    package init() {}

    /// Resumes the task that waits, or the next one that will.
    package func send() { self.channel.put(()) }

    /// Returns once ``send()`` was called after the last return, or the surrounding task is cancelled.
    package func wait() async { _ = await self.channel.next() }
}

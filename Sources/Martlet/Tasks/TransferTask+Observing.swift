// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferEngine

/// The delegates and event sequences of a single task.
extension TransferTask {
    /// Adds a delegate for this task only; it is called after the session's delegates.
    ///
    /// A delegate of the session is called once, in the session's context.
    ///
    /// - Parameters:
    ///   - delegate: The delegate, referenced weakly.
    ///   - context: The context in which it is called.
    public final func addDelegate(_ delegate: any TransferDelegate, on context: CallbackContext = .anyThread) {
        let list = self.ownDelegates.withLock { list in
            let known = list ?? DelegateList()
            list = known
            return known
        }
        list.add(ObjectIdentifier(delegate), on: context) { [weak delegate] in delegate }
    }

    /// Takes over the delegates of a task whose transfer continues as this task's.
    final func takeDelegates(of other: TransferTask) {
        let list = other.ownDelegates.withLock { $0 }
        self.ownDelegates.withLock { $0 = list }
    }

    /// Removes a delegate of this task; a call in progress is completed.
    public final func removeDelegate(_ delegate: any TransferDelegate) {
        self.ownDelegates.withLock { $0 }?.remove(ObjectIdentifier(delegate))
    }

    /// The task's events from now on; see ``TaskEvents``.
    ///
    /// To receive all events, create the sequence before ``resume()``. A live sequence counts as a recipient of a
    /// finished download's temporary file.
    public final var events: TaskEvents {
        let mailbox = Mailbox(self.flow)
        let isOver = self.facts.withLock { facts in
            facts.sequences.removeAll { $0.mailbox == nil }
            if !facts.isEnded { facts.sequences.append(Mailbox.Reference(mailbox: mailbox)) }
            return facts.isEnded
        }
        if isOver {
            self.tellEnd(to: mailbox)
            mailbox.close()
        }
        return TaskEvents(mailbox: mailbox)
    }
}

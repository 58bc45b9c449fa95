// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import TransferCore

/// Tasks that begin at a time.
extension TransferTask {
    /// The time before which the task does not begin, in seconds since 1970-01-01T00:00:00Z; `nil` for none.
    ///
    /// Set it before ``resume()``; a change after that has an effect at the next one. Until then the task's state is `waiting`, with the reason `date`;
    /// no timeout counts this time. It is a time of the system's clock, also if that is set.
    ///
    /// In a background session the daemon stores the task at once, and a program begins it: if this one has ended, the next
    /// one that opens the session, when the time has come.
    ///
    /// - Source: Apple, `URLSessionTask.earliestBeginDate`.
    public final var earliestBeginTime: Double? {
        get { self.facts.withLock { $0.earliestBegin } }
        set { self.facts.withLock { $0.earliestBegin = newValue } }
    }

    /// Stores a task of a background session in the daemon, so that it survives the program, without starting it.
    ///
    /// ``resume()`` starts it; if this program has ended, the next one that opens the session does, at the task's time.
    package final func store() {
        let failure: TransferError? = self.control.withLock { phase in
            guard !self.isOver.load(ordering: .acquiring), let background = self.session.background else { return nil }
            switch phase {
            case .created:
                self.session.registry.keep(self)
                do throws(TransferError) {
                    phase = .paused(try background.add(self, isHeld: true))
                } catch {
                    phase = .ended
                    return error
                }
            case .paused(let id): background.setBegin(self.earliestBeginTime, of: id)
            case .held, .submitted, .ended: break
            }
            return nil
        }
        if let failure { self.fail(failure) }
    }

    /// The seconds until the task may begin; `nil` if it may now.
    final var secondsToBegin: Double? {
        guard let time = self.earliestBeginTime else { return nil }
        let seconds = time - Double(SystemClock.microseconds) / 1_000_000
        return seconds > 0 ? seconds : nil
    }

    /// The reason why the task is held.
    final var reasonOfHold: WaitReason {
        guard self.secondsToBegin != nil, let time = self.earliestBeginTime else { return WaitReason(.conditions) }
        return WaitReason(.date, nextAttempt: Int64(min(time.rounded(.up), 1e15)))
    }

    /// Keeps the task until its time; called with the lock of its phase.
    ///
    /// - Parameters:
    ///   - id: The transfer, which is paused; `nil` if there is none yet.
    ///   - seconds: The time to wait.
    /// - Returns: The transfer, if there is one.
    /// - Throws: ``TransferError`` if the daemon's transfer cannot be added.
    final func hold(_ id: TransferID?, for seconds: Double) throws(TransferError) -> TransferID? {
        self.session.registry.keep(self)
        var held = id
        if let background = self.session.background {
            if let id {
                background.setBegin(self.earliestBeginTime, of: id)
            } else {
                held = try background.add(self, isHeld: true)
            }
        }
        self.beginLater(seconds)
        return held
    }

    /// Begins the task at its time, unless it is suspended or cancelled then.
    final func beginLater(_ seconds: Double) {
        // The clock may be set meanwhile: the time is looked at again, at least once a day.
        DispatchQueue.global()
            .asyncAfter(wallDeadline: .now() + min(seconds, 86_400)) { [weak self] in self?.conditionsHold() }
    }
}

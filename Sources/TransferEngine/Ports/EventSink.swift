internal import TransferCore

/// Receives the events of running transfers.
protocol EventSink: AnyObject, Sendable {
    /// Whether an observer is registered for such events; others need not be created.
    func wants(_ interest: TransferEvent.Interest) -> Bool

    /// Enqueues an event; `deliver()` must follow outside all locks.
    func post(_ event: TransferEvent)

    /// Delivers the enqueued events, unless another thread is delivering.
    func deliver()
}

extension EventSink {
    /// Enqueues and delivers an event; not under a lock.
    func emit(_ event: TransferEvent) {
        self.post(event)
        self.deliver()
    }
}

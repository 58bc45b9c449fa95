/// Hears of a queue's items, each with its user information.
///
/// Every method is optional. For one item the order is: the response once, data any number of times, then exactly one of
/// the two ends; an item that fails before any response has none. Delegates are held weakly.
public protocol TransferQueueDelegate: AnyObject, Sendable {
    /// An item's response came.
    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive response: HTTPResponse)

    /// Bytes of an item came, in order.
    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive bytes: [UInt8])

    /// An item's end: all of its data.
    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse)

    /// An item's end: it failed.
    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFailWith error: TransferError)

    /// All items have ended and no more will come; not told after a stop.
    func queueDidFinish(_ queue: TransferQueue)

    /// The queue was stopped, and what ran has ended.
    func queueDidStop(_ queue: TransferQueue)
}

extension TransferQueueDelegate {
    /// Does nothing.
    public func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive response: HTTPResponse) {}

    /// Does nothing.
    public func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive bytes: [UInt8]) {}

    /// Does nothing.
    public func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {}

    /// Does nothing.
    public func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFailWith error: TransferError) {}

    /// Does nothing.
    public func queueDidFinish(_ queue: TransferQueue) {}

    /// Does nothing.
    public func queueDidStop(_ queue: TransferQueue) {}
}

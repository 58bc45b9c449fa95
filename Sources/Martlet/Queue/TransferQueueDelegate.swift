// SPDX-License-Identifier: Apache-2.0
/// Observes a queue's items, each with its user information.
///
/// Every method is optional. For one item the order is: the response once, data any number of times, then exactly one
/// of the two ends; an item that fails before any response reports none. Delegates are referenced weakly.
public protocol TransferQueueDelegate: AnyObject, Sendable {
    /// An item's response has arrived.
    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive response: TransferResponse)

    /// Bytes of an item have arrived, in order.
    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive bytes: [UInt8])

    /// An item has ended with its data.
    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse)

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFailWith error: TransferError)

    /// The queue was closed and all items have ended; not called after a stop.
    func queueDidFinish(_ queue: TransferQueue)

    /// The queue was stopped, and its running items have ended.
    func queueDidStop(_ queue: TransferQueue)
}

extension TransferQueueDelegate {
    /// Does nothing.
    public func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive response: TransferResponse) {}

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

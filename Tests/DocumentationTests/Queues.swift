// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Queues {
    // snippet: queue-delegate
    final class Album: TransferQueueDelegate {
        func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
            print("picture", item.userInfo as? Int ?? 0, data.body.count)
        }

        func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFailWith error: TransferError) {
            print("no picture", item.userInfo as? Int ?? 0, error)
        }

        func queueDidFinish(_ queue: TransferQueue) { print("all", queue.finishedCount) }

        func queueDidStop(_ queue: TransferQueue) { print("stopped") }
    }
    // end

    static func use(_ urls: [String]) async throws {
        // snippet: queue-use
        let album = Album()
        let queue = try TransferQueue(concurrentTransfers: 3)
        queue.addDelegate(album, on: .main)
        for (number, url) in urls.enumerated() { try queue.add(url, userInfo: number) }
        queue.start()
        try queue.add("https://example.org/last.jpg", userInfo: urls.count)
        queue.finishQueuing()
        queue.concurrentTransfers = 5
        try await queue.waitUntilFinished()
        print(queue.finishedCount, "ended, failures included")
        // end
    }

    static func stop(_ queue: TransferQueue) throws {
        // snippet: queue-stop
        queue.requestStop()
        try queue.waitUntilFinishedBlocking()
        // end
    }
}

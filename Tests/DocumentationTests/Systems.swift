// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletSystemTransport

enum Systems {
    static func queue() throws -> TransferQueue {
        // snippet: system-queue
        var configuration = TransferQueue.defaultConfiguration
        configuration.transport = .urlSession()
        let queue = try TransferQueue(concurrentTransfers: 4, configuration: configuration)
        // end
        return queue
    }

    static func list(_ folder: String) throws -> OfflineDownloads {
        // snippet: system-list
        let background = SystemBackground(identifier: "com.example.films")
        let list = try OfflineDownloads(
            list: folder + "/downloads.json",
            directory: folder,
            configuration: .systemBackground(background)
        )
        try list.resumeInterrupted()
        // end
        return list
    }

    // snippet: system-events
    static func handleEvents(of identifier: String, completionHandler: @escaping @Sendable () -> Void) {
        SystemBackground.handleEvents(forBackgroundURLSession: identifier, completionHandler: completionHandler)
    }
    // end
}

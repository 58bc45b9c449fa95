// SPDX-License-Identifier: Apache-2.0
// Fetches images three at a time and writes them into a directory, each under its title.
//
//     swift run ImageQueue DIRECTORY TITLE=URL...

import FoundationEssentials
import Martlet

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What the program knows of an image; it comes back with every callback.
struct Picture {
    var title: String
}

/// Writes each image as it comes in.
final class Album: TransferQueueDelegate {
    /// Ends when all callbacks were made.
    let finished: AsyncStream<Never>
    private let finish: AsyncStream<Never>.Continuation
    private let directory: String

    init(directory: String) {
        self.directory = directory
        (self.finished, self.finish) = AsyncStream.makeStream()
    }

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive response: TransferResponse) {
        print("\(self.title(item)): \(response.mediaType ?? "unknown type"), \(queue.waitingCount) waiting")
    }

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
        let path = "\(self.directory)/\(FileName.sanitize(self.title(item)) ?? "image \(item.number)")"
        do {
            guard data.response.mediaType?.hasPrefix("image/") == true else {
                return print("\(self.title(item)): no image, but \(data.response.mediaType ?? "something unknown")")
            }
            try Data(data.body).write(to: URL(filePath: path), options: .atomic)
            print("\(self.title(item)): \(ByteCount.compact(Int64(data.body.count))) in \(path)")
        } catch {
            print("\(self.title(item)): cannot be written: \(error)")
        }
    }

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFailWith error: TransferError) {
        print("\(self.title(item)): \(error)")
    }

    func queueDidFinish(_ queue: TransferQueue) { self.finish.finish() }

    private func title(_ item: TransferQueue.Item) -> String {
        (item.userInfo as? Picture)?.title ?? "\(item.request.url)"
    }
}

guard CommandLine.arguments.count > 2 else {
    print("usage: ImageQueue DIRECTORY TITLE=URL...")
    exit(2)
}
let directory = CommandLine.arguments[1]
do {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let album = Album(directory: directory)
    let queue = try TransferQueue(limit: 3)
    // One thread at a time, so that lines do not mix; any queue, executor or actor will do.
    queue.addDelegate(album, on: .main)
    for argument in CommandLine.arguments.dropFirst(2) {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else {
            print("'\(argument)' is not TITLE=URL")
            exit(2)
        }
        try queue.add(String(parts[1]), userInfo: Picture(title: String(parts[0])))
    }
    queue.start()
    queue.finishQueuing()
    for await _ in album.finished {}
} catch {
    print("error: \(error)")
    exit(1)
}

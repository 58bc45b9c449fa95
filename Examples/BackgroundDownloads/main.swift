// Queues downloads that go on when this program is gone.
//
//     swift run BackgroundDownloads DIRECTORY [URL...]
//
// End it at any time, with `kill -9` if you like, and run it again without URLs: it finds its downloads, and tells what
// happened meanwhile. `martletd` must be beside the program or in PATH; it is started where it does not run.

import Martlet

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Prints what happens.
final class Printer: TransferDelegate {
    /// One element whenever something may have come to its end.
    let changes: AsyncStream<Void>
    private let change: AsyncStream<Void>.Continuation

    init() { (self.changes, self.change) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func task(_ task: TransferTask, didMake progress: TransferProgress) {
        let whole = progress.bytesExpected.map { " of \(ByteCount.compact($0))" } ?? ""
        print("\(task.description): \(ByteCount.compact(progress.bytesReceived))\(whole)")
    }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        switch result {
        case .success(let file): print("\(task.description): \(file.path)")
        case .failure(let error): print("\(task.description): \(error)")
        }
        self.change.yield()
    }

    func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
        print("that was all that happened before")
        completion()
        self.change.yield()
    }
}

guard CommandLine.arguments.count > 1 else {
    print("usage: BackgroundDownloads DIRECTORY [URL...]")
    exit(2)
}
let directory = CommandLine.arguments[1]
do {
    let printer = Printer()
    let session = try await TransferSession.open(.background(identifier: "example.downloads"))
    for task in await session.tasks().download {
        print("\(task.description): \(task.state), \(ByteCount.compact(task.bytesReceived)) are there")
    }
    session.addDelegate(printer)
    for url in CommandLine.arguments.dropFirst(2) {
        let task = try session.downloadTask(for: url, to: .directory(directory))
        task.description = url
        task.resume()
        print("\(url): queued")
    }
    // Ends with the last download; it need not wait for it.
    for await _ in printer.changes where await session.tasks().isEmpty { break }
} catch {
    print("error: \(error)")
    exit(1)
}

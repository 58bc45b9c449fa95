// SPDX-License-Identifier: Apache-2.0
// Queues downloads and uploads that go on when this program is gone.
//
//     swift run BackgroundTransfers get DIRECTORY [URL...]
//     swift run BackgroundTransfers post COOKIE URL [FILE...]
//
// End it at any time, with `kill -9` if you like, and run it again without URLs or files: it finds its transfers, and
// prints what happened meanwhile. COOKIE is `name=value`. The executable `martlet`, which contains the daemon, must be next
// to the program or in PATH; the daemon is started if it does not run.

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
        self.print(progress.bytesReceived, of: progress.bytesExpected, task)
    }

    func task(_ task: UploadTask, didSend progress: UploadProgress) {
        self.print(progress.bytesSent, of: progress.bytesExpected, task)
    }

    private func print(_ bytes: Int64, of total: Int64?, _ task: TransferTask) {
        let whole = total.map { " of \(ByteCount.compact($0))" } ?? ""
        Swift.print("\(task.description): \(ByteCount.compact(bytes))\(whole)")
    }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        switch result {
        case .success(let file): Swift.print("\(task.description): \(file.path)")
        case .failure(let error): Swift.print("\(task.description): \(error)")
        }
        self.change.yield()
    }

    func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>) {
        switch result {
        case .success(let answer): Swift.print("\(task.description): \(answer.status) \(answer.text)")
        case .failure(let error): Swift.print("\(task.description): \(error)")
        }
        self.change.yield()
    }

    func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
        Swift.print("that was all that happened before")
        completion()
        self.change.yield()
    }
}

/// Goes through a session's transfers, queues new ones, and ends with the last of them; it need not wait for it.
@MainActor
func run(_ configuration: SessionConfiguration, _ begin: (TransferSession) throws -> [TransferTask]) async throws {
    let printer = Printer()
    let session = try await TransferSession.open(configuration)
    let tasks = await session.tasks()
    for task in tasks.download {
        print("\(task.description): \(task.state), \(ByteCount.compact(task.bytesReceived)) are there")
    }
    for task in tasks.upload {
        print("\(task.description): \(task.state), \(ByteCount.compact(task.bytesSent)) were sent")
    }
    session.addDelegate(printer)
    for task in try begin(session) {
        task.resume()
        print("\(task.description): queued")
    }
    for await _ in printer.changes where await session.tasks().isEmpty { break }
}

let words = CommandLine.arguments.dropFirst()
do {
    switch (words.first, words.count) {
    case ("get", 2...):
        let directory = words.dropFirst().first ?? "."
        try await run(.background(identifier: "example.downloads")) { session in
            try words.dropFirst(2)
                .map { url in
                    let task = try session.downloadTask(for: url, to: .directory(directory))
                    task.description = url
                    return task
                }
        }
    case ("post", 3...):
        let pair = words.dropFirst().first?.split(separator: "=", maxSplits: 1).map(String.init) ?? []
        var request = try TransferRequest(words.dropFirst(2).first ?? "")
        request.method = "POST"
        var configuration = SessionConfiguration.background(identifier: "example.uploads")
        let cookies = CookieStorage()
        if pair.count == 2 {
            try cookies.set(Cookie(name: pair[0], value: pair[1], domain: request.url.host, path: "/", created: 0))
        }
        configuration.cookies = cookies
        try await run(configuration) { session in
            try words.dropFirst(3)
                .map { file in
                    let task = try session.uploadTask(for: request, from: .file(file))
                    task.description = file
                    return task
                }
        }
    default:
        print("usage: BackgroundTransfers get DIRECTORY [URL...]\n       BackgroundTransfers post COOKIE URL [FILE...]")
        exit(2)
    }
} catch {
    print("error: \(error)")
    exit(1)
}

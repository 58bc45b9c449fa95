// SPDX-License-Identifier: Apache-2.0
import Martlet

/// Prints what happens.
private final class TransferPrinter: TransferDelegate {
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
private func run(_ configuration: SessionConfiguration, _ begin: (TransferSession) throws -> [TransferTask])
    async throws
{
    let printer = TransferPrinter()
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

/// Queues downloads and uploads that continue after this program; without any it finds those of earlier runs, and prints
/// what happened meanwhile.
///
/// - Parameter words: `get DIRECTORY [URL...]`, or `post COOKIE URL [FILE...]`, where COOKIE is `name=value`.
/// - Throws: `TransferError`, or ``Failure`` with the usage.
func transferInBackground(_ words: [String]) async throws {
    switch (words.first, words.count) {
    case ("get", 2...):
        let directory = words[1]
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
    default: throw Failure("usage: background get DIRECTORY [URL...] | post COOKIE URL [FILE...]")
    }
}

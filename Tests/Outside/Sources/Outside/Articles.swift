// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Martlet

/// The five programs of Docs/FiveSystems.md, each as its article has it, by README and the DocC catalogue alone.
///
/// Each one ends as its article's did, and throws otherwise. They run on the main thread, as the articles' code did.
enum Articles {
    /// Runs one program.
    ///
    /// - Parameter words: The article, and its arguments; see ``usage``.
    /// - Throws: `TransferError`, or ``Failure`` if the program ends differently from its article's.
    static func run(_ words: [String]) throws {
        switch (words.first, words.count) {
        case ("queue", 2): try self.queue(words[1])
        case ("accessor", 2): try self.accessor(words[1])
        case ("sender", 5): try self.sender(state: words[1], url: words[2], cookie: words[3], file: words[4])
        case ("image", 4): try self.image(state: words[1], url: words[2], path: words[3])
        default: throw Failure("usage: " + self.usage)
        }
        print("\(words[0]): ok")
    }

    static let usage = """
        Outside article queue URL                   20 items at URL/1 to URL/20, one of which is not there
        Outside article accessor URL
        Outside article sender STATE URL COOKIE FILE
        Outside article image STATE URL PATH
        Outside article tool DIRECTORY URL URL
        """

    // MARK: QueuedURLDownloader

    /// The delegate of the article's screen, which is called on the main thread.
    private final class Screen: TransferQueueDelegate {
        nonisolated(unsafe) var names: [String] = []
        nonisolated(unsafe) var failures = 0
        nonisolated(unsafe) var ending = ""

        func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
            self.names.append(item.userInfo as? String ?? "")
        }

        func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFailWith error: TransferError) {
            self.failures += 1
        }

        func queueDidFinish(_ queue: TransferQueue) { self.ending = "finished" }
        func queueDidStop(_ queue: TransferQueue) { self.ending = "stopped" }
    }

    /// A list of images, three at a time, each with its dictionary; then a screen that closes and waits for the stop.
    private static func queue(_ url: String) throws {
        let screen = Screen()
        let queue = try TransferQueue(concurrentTransfers: 3)
        queue.addDelegate(screen, on: .main)
        for number in 1...20 { try queue.add("\(url)/\(number)", userInfo: "image \(number)") }
        queue.start()
        queue.finishQueuing()
        try queue.waitUntilFinishedBlocking(timeout: .seconds(30))
        // The wait includes all calls of the delegate, although they are made on the thread that waited.
        guard screen.ending == "finished", screen.names.count == 19, screen.failures == 1,
            Set(screen.names).count == 19
        else { throw Failure("queue: \(screen.names.count) \(screen.failures) \(screen.ending)") }

        let closing = Screen()
        let other = try TransferQueue(concurrentTransfers: 3)
        other.addDelegate(closing, on: .main)
        for number in 1...20 { try other.add("\(url)/\(number)", userInfo: "image \(number)") }
        other.start()
        other.requestStop()
        try other.waitUntilFinishedBlocking(timeout: .seconds(30))
        guard closing.ending == "stopped", closing.names.count + closing.failures == 20 else {
            throw Failure("stop: \(closing.names.count) \(closing.failures) \(closing.ending)")
        }
    }

    // MARK: UCURLAccessor

    /// A fetch in straight-line code: its content, or a message.
    private static func accessor(_ url: String) throws {
        let session = try TransferSession(configuration: .ephemeral)
        let page = try TransferRequest(url).url
        guard try !session.dataBlocking(from: url, referer: page, timeout: .seconds(10)).body.isEmpty else {
            throw Failure("accessor: no content")
        }
        do {
            _ = try session.dataBlocking(from: url + ".missing", referer: page, timeout: .seconds(10))
            throw Failure("accessor: no error")
        } catch let error as TransferError {
            guard error.status == 404, !error.message.isEmpty else { throw error }
        }
    }

    // MARK: FileQ

    /// The delegate of a program with a background session.
    private final class Receiver: TransferDelegate {
        let changed = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var ends: [String] = []

        func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>) {
            self.end(task, result.map { "\($0.status)" })
        }

        func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
            self.end(task, result.map(\.path))
        }

        private func end(_ task: TransferTask, _ result: Result<String, TransferError>) {
            let text =
                switch result {
                case .success(let text): text
                case .failure(let error): "\(error)"
                }
            self.ends.append("\(task.persistentInfo) \(text)")
            self.changed.signal()
        }

        func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
            completion()
        }
    }

    /// A file as raw bytes by POST, with the user's session in a cookie, from a background session that is found again.
    private static func sender(state: String, url: String, cookie: String, file: String) throws {
        func configuration() throws -> SessionConfiguration {
            var configuration = SessionConfiguration.background(identifier: "article.sender", stateDirectory: state)
            configuration.cookies = CookieStorage()
            configuration.cookies?.set(setCookie: cookie, from: try TransferRequest(url).url)
            return configuration
        }
        // The first run of the program ends right after `resume()`.
        do {
            let session = try TransferSession(configuration: try configuration())
            var request = try TransferRequest(url)
            request.method = "POST"
            request.headers = ["Content-Type": "application/octet-stream"]
            let task = try session.uploadTask(for: request, from: .file(file))
            task.persistentInfo = "photo"
            task.resume()
            try session.handOverBlocking(timeout: .seconds(20))
        }
        let receiver = Receiver()
        let session = try TransferSession(configuration: try configuration(), delegate: receiver)
        guard receiver.changed.wait(timeout: .now() + 30) == .success, receiver.ends == ["photo 201"] else {
            throw Failure("sender: \(receiver.ends)")
        }
        try session.handOverBlocking(timeout: .seconds(20))
    }

    // MARK: The image that comes in the background

    /// A download that the program starts and leaves; another run of it is told that it has come.
    private static func image(state: String, url: String, path: String) throws {
        let configuration = SessionConfiguration.background(identifier: "article.image", stateDirectory: state)
        do {
            let session = try TransferSession(configuration: configuration)
            let task = try session.downloadTask(for: url, to: .file(path))
            task.persistentInfo = "image"
            task.resume()
            try session.handOverBlocking(timeout: .seconds(20))
        }
        let receiver = Receiver()
        let session = try TransferSession(configuration: configuration, delegate: receiver)
        guard receiver.changed.wait(timeout: .now() + 30) == .success, receiver.ends == ["image \(path)"],
            FileManager.default.fileExists(atPath: path)
        else { throw Failure("image: \(receiver.ends)") }
        try session.handOverBlocking(timeout: .seconds(20))
    }

    // MARK: QSPDownloadTool

    /// The ends of a list's downloads.
    private final class Ends: OfflineDownloads.Observer {
        let states: AsyncStream<OfflineDownload.State>
        private let end: AsyncStream<OfflineDownload.State>.Continuation

        init() { (self.states, self.end) = AsyncStream.makeStream() }

        func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {
            if state == .failed { self.end.yield(state) }
        }

        func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) { self.end.yield(.finished) }
    }

    /// A list whose downloads are suspended, left, found again and continued to their ends.
    ///
    /// - Parameter words: The directory and the URLs.
    /// - Throws: `TransferError`, or ``Failure`` if the list ends differently from its article's.
    static func tool(_ words: [String]) async throws {
        guard words.count > 1 else { throw Failure("usage: " + self.usage) }
        let (directory, urls) = (words[0], Array(words[1...]))
        func list() throws -> OfflineDownloads {
            try OfflineDownloads(list: directory + "/list.json", directory: directory)
        }
        do {
            let list = try list()
            for url in urls { try list.add(url).suspend() }
            await list.close()
        }
        let list = try list()
        guard list.downloads.map(\.state) == [.suspended, .suspended] else {
            throw Failure("tool: \(list.downloads.map(\.state))")
        }
        let ends = Ends()
        list.addObserver(ends)
        try list.resumeAll()
        for await state in ends.states.prefix(urls.count) where state != .finished { throw Failure("tool: \(state)") }
        guard list.downloads.isEmpty, list.finishedDownloads.allSatisfy({ $0.bytesReceived > 0 }) else {
            throw Failure("tool: \(list.downloads.map(\.state))")
        }
        await list.close()
        print("tool: ok")
    }
}

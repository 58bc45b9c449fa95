// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import HTTPTypes
import Martlet
import MartletFoundation
import TransferTesting

/// The uses of a program that depends on the package, each by the public interface only.
@main
enum Outside {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            switch words.first {
            case "names":
                try Self.names()
                try Self.scripted()
            case "leave" where words.count == 7: try Self.leave(words)
            case "progress" where words.count == 4: try Self.progress(words)
            case "blocking" where words.count == 2: try Self.blocking(words[1])
            case "article" where words.count > 1 && words[1] == "tool":
                Self.run {
                    try await Articles.tool(Array(words.dropFirst(2)))
                    return 0
                }
            case "article" where words.count > 1: try Articles.run(Array(words.dropFirst()))
            case "offline" where words.count > 1: Self.run { try await downloadOffline(Array(words.dropFirst())) }
            case "background" where words.count > 2:
                Self.run {
                    try await transferInBackground(Array(words.dropFirst()))
                    return 0
                }
            default:
                print(
                    """
                    usage: Outside names
                           Outside leave STATE DIRECTORY DOWNLOADS UPLOADS FROM TO    queues, and exits at once
                           Outside progress STATE DIRECTORY URL    the time from the resume to the first progress
                           Outside blocking URL
                           Outside offline DIRECTORY [URL...]
                           Outside background get DIRECTORY [URL...]
                           Outside background post COOKIE URL [FILE...]
                           Outside article NAME ...    one of the five programs, see Scripts/check-articles
                    """
                )
                exit(2)
            }
        } catch {
            print("error: \(error)")
            exit(1)
        }
    }

    /// Runs asynchronous code, and exits with the status that it returns.
    private static func run(_ work: @escaping @Sendable () async throws -> Int32) -> Never {
        Task {
            do {
                exit(try await work())
            } catch {
                print("error: \(error)")
                exit(1)
            }
        }
        dispatchMain()
    }

    /// Martlet's names beside those of swift-http-types, and values of Foundation where paths and bytes are taken.
    private static func names() throws {
        var fields = HeaderFields([("Accept", "image/*")])
        let name = "X-" + "Run"
        fields[name] = "1"
        guard fields[name.lowercased()] == "1", fields.map(\.name) == ["Accept", "X-Run"],
            fields == HeaderFields([("accept", "image/*"), ("x-run", "1")])
        else { throw Failure("header fields") }
        let standard: HTTPFields = [.accept: "image/*"]
        let response: HTTPResponse = HTTPResponse(status: .ok)
        let mine: TransferResponse? = nil
        guard standard[.accept] == "image/*", response.status == .ok, mine == nil else { throw Failure("http types") }
        let request = try URL(fileURLWithPath: "/x").isFileURL ? TransferRequest("http://127.0.0.1/x") : nil
        guard request.map({ "\($0.url)" }) == "http://127.0.0.1/x" else { throw Failure("request") }
        print("names: ok")
    }

    /// A session without a network, as in a program's tests.
    private static func scripted() throws {
        let responses = ScriptedResponses { _ in .response(200, ["ETag": "\"1\""], body: Array("scripted".utf8)) }
        var configuration = SessionConfiguration.ephemeral
        configuration.transport = responses.transport
        let session = try TransferSession(configuration: configuration)
        let answer = try session.dataBlocking(from: "https://example.org/x", timeout: .seconds(10))
        guard answer.text == "scripted", answer.response.entityTag == "\"1\"", responses.requests.count == 1 else {
            throw Failure("scripted responses")
        }
        print("scripted: ok")
    }

    /// Queues downloads and uploads in a background session, and ends the process right after the last `resume()`.
    private static func leave(_ words: [String]) throws {
        let (state, directory) = (words[1], words[2])
        guard let downloads = Int(words[3]), let uploads = Int(words[4]) else { throw Failure("numbers") }
        let session = try TransferSession(configuration: .background(identifier: "outside", stateDirectory: state))
        var times: [Duration] = []
        func resume(_ task: TransferTask) {
            times.append(ContinuousClock().measure { task.resume() })
        }
        for number in 0..<downloads {
            resume(try session.downloadTask(for: "\(words[5])\(number)", to: .file("\(directory)/\(number).bin")))
        }
        for number in 0..<uploads {
            var request = try TransferRequest("\(words[6])\(number)")
            request.method = "POST"
            resume(try session.uploadTask(for: request, from: .file("\(directory)/up.bin"), resumption: .none))
        }
        times.sort()
        let text = times.isEmpty ? "" : "resume: median \(times[times.count / 2]), slowest \(times[times.count - 1])\n"
        try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
        _exit(0)
    }

    /// A background download, cancelled after its first progress.
    private static func progress(_ words: [String]) throws {
        let watcher = Watcher()
        let session = try TransferSession(
            configuration: .background(identifier: "progress", stateDirectory: words[1]),
            delegate: watcher
        )
        try session.handOverBlocking(timeout: .seconds(10))
        for number in 0..<5 {
            let task = try session.downloadTask(for: words[3], to: .file("\(words[2])/progress\(number)"))
            let begun = ContinuousClock.now
            task.resume()
            guard watcher.seen.wait(timeout: .now() + 10) == .success else { throw Failure("no progress") }
            print("first progress: \(ContinuousClock.now - begun) after the resume")
            task.cancel()
            guard watcher.ended.wait(timeout: .now() + 10) == .success else { throw Failure("no end") }
        }
        try session.handOverBlocking(timeout: .seconds(10))
    }

    private final class Watcher: TransferDelegate {
        let seen = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)
        private let known = NSLock()
        nonisolated(unsafe) private var tasks: Set<Int> = []

        func task(_ task: TransferTask, didMake progress: TransferProgress) {
            self.known.lock()
            defer { self.known.unlock() }
            if self.tasks.insert(task.id).inserted { self.seen.signal() }
        }

        func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
            self.ended.signal()
        }
    }

    /// Signals with the first bytes of a queue.
    private final class Beginning: TransferQueueDelegate {
        let seen = DispatchSemaphore(value: 0)

        func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive bytes: [UInt8]) { self.seen.signal() }
    }

    /// A queue whose delegate is called on the main thread, which stops it and waits for it.
    private static func blocking(_ url: String) throws {
        let queue = try TransferQueue(concurrentTransfers: 4)
        let observer = Observer()
        let beginning = Beginning()
        queue.addDelegate(observer, on: .main)
        queue.addDelegate(beginning)
        for number in 0..<20 { try queue.add("\(url)\(number)") }
        queue.start()
        guard beginning.seen.wait(timeout: .now() + 10) == .success else { throw Failure("no bytes") }
        let time = try ContinuousClock()
            .measure {
                queue.requestStop()
                try queue.waitUntilFinishedBlocking(timeout: .seconds(30))
            }
        let other = try TransferQueue(concurrentTransfers: 4)
        other.addDelegate(observer, on: .main)
        for number in 0..<20 { try other.add("\(url)\(number)") }
        other.finishQueuing()
        other.start()
        try other.waitUntilFinishedBlocking(timeout: .seconds(60))
        print("stopped and waited: \(time); finished \(other.finishedCount)")
    }

    private final class Observer: TransferQueueDelegate {
        func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive bytes: [UInt8]) {}
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ text: String) { self.description = text }
}

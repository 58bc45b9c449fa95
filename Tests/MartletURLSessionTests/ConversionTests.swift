// SPDX-License-Identifier: Apache-2.0
import Foundation
import MartletURLSession
import Synchronization
import Testing
import TransferTesting

/// Commands in the moment in which a transfer becomes a download are not lost.
@Suite("Data tasks that become downloads", .timeLimit(.minutes(1)))
struct ConversionTests {
    /// Lets a data task become a download, and gives it a command before the delegate learns of the download.
    private final class Delegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let ended = AsyncStream<(any Error)?>.makeStream()
        let download = AsyncStream<URLSessionDownloadTask>.makeStream()
        private let command: @Sendable (URLSessionTask) -> Void

        init(_ command: @escaping @Sendable (URLSessionTask) -> Void) { self.command = command }

        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            completionHandler(.becomeDownload)
            self.command(dataTask)
        }

        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            didBecome downloadTask: URLSessionDownloadTask
        ) { self.download.continuation.yield(downloadTask) }

        func urlSession(
            _ session: URLSession,
            downloadTask: URLSessionDownloadTask,
            didFinishDownloadingTo location: URL
        ) {}

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            self.ended.continuation.yield(error)
        }
    }

    private static func task(_ server: ScriptedServer, _ delegate: Delegate) throws -> URLSessionTask {
        let configuration = URLSessionConfiguration.ephemeral
        // A command that is lost is not mistaken for a timeout.
        configuration.timeoutIntervalForRequest = 600
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        return session.dataTask(with: try #require(URL(string: server.text("file"))))
    }

    private static let stalled = Reply([
        .head(Reply.headBytes(200, [("Content-Length", "5")])), .bytes([0x77]), .stall,
    ])

    @Test("a cancellation ends the download")
    func cancelled() async throws {
        let server = try await ScriptedServer.start { _ in Self.stalled }
        let delegate = Delegate { $0.cancel() }
        try Self.task(server, delegate).resume()
        for await error in delegate.ended.stream {
            #expect((error as? URLError)?.code == .cancelled)
            break
        }
    }

    @Test("a suspension suspends the download, which can be continued")
    func suspended() async throws {
        let isReleased = Mutex(false)
        let server = try await ScriptedServer.start { _ in
            isReleased.withLock { $0 } ? .response(200, text: "whole") : Self.stalled
        }
        let delegate = Delegate { $0.suspend() }
        try Self.task(server, delegate).resume()
        for await download in delegate.download.stream {
            #expect(download.state == .suspended)
            // Its connection is closed.
            await server.waitForOpenConnections(0)
            isReleased.withLock { $0 = true }
            download.resume()
            break
        }
        for await error in delegate.ended.stream {
            #expect(error == nil)
            break
        }
    }
}

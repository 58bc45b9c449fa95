// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import Synchronization

/// The values passed to a completion handler.
struct Outcome: Sendable {
    var data: Data?
    var file: URL?
    var response: URLResponse?
    var error: (any Error)?

    var http: HTTPURLResponse? { self.response as? HTTPURLResponse }
    var status: Int? { self.http?.statusCode }
    var text: String? { self.data.map { String(decoding: $0, as: UTF8.self) } }
}

extension URLSession {
    /// Runs a data task with a completion handler.
    func outcome(of request: URLRequest) async throws -> Outcome {
        let done = Expectation<Outcome>("call of the completion handler")
        let task = self.dataTask(with: request) { data, response, error in
            done.fulfill(Outcome(data: data, response: response, error: error))
        }
        task.resume()
        return try await done.value()
    }

    /// Runs a download task with a completion handler, which moves the file to a URL.
    func download(_ request: URLRequest, to destination: URL) async throws -> Outcome {
        let done = Expectation<Outcome>("call of the completion handler")
        let task = self.downloadTask(with: request) { file, response, error in
            done.fulfill(Outcome.moving(file, to: destination, response, error))
        }
        task.resume()
        return try await done.value()
    }
}

extension Outcome {
    /// Moves a downloaded file, as the completion handler has to.
    static func moving(_ file: URL?, to destination: URL, _ response: URLResponse?, _ error: (any Error)?) -> Outcome {
        var outcome = Outcome(file: nil, response: response, error: error)
        guard let file else { return outcome }
        do {
            try FileManager.default.moveItem(at: file, to: destination)
            outcome.file = destination
            outcome.data = try Data(contentsOf: destination)
        } catch {
            outcome.error = BehaviourFailure("the downloaded file cannot be moved: \(error)")
        }
        return outcome
    }
}

/// A delegate that records its callbacks.
final class Recorder: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, @unchecked Sendable {
    /// The decisions that a case makes in place of the defaults.
    struct Decisions: Sendable {
        var redirect: (@Sendable (HTTPURLResponse, URLRequest, @escaping @Sendable (URLRequest?) -> Void) -> Void)?
        var challenge:
            (
                @Sendable (URLAuthenticationChallenge) -> (
                    URLSession.AuthChallengeDisposition, URLCredential?
                )
            )?
        var response: (@Sendable (URLResponse) -> URLSession.ResponseDisposition)?
        var cache: (@Sendable (CachedURLResponse) -> CachedURLResponse?)?
        var body: (@Sendable () -> InputStream?)?
        /// Called in every callback, with its name.
        var observe: (@Sendable (String) -> Void)?
    }

    /// The values received so far.
    struct Record: Sendable {
        /// The names of the callbacks; a repetition of data, sent and written counts once.
        var callbacks: [String] = []
        var data = Data()
        var response: URLResponse?
        var redirects: [(response: HTTPURLResponse, request: URLRequest)] = []
        var challenges: [(method: String, realm: String?, failures: Int)] = []
        var sent: [(total: Int64, expected: Int64)] = []
        var written: [(total: Int64, expected: Int64)] = []
        var resumedOffsets: [Int64] = []
        var sizeAtFinish: Int64?
        var contentAtFinish: Data?

        var status: Int? { (self.response as? HTTPURLResponse)?.statusCode }
        var text: String { String(decoding: self.data, as: UTF8.self) }
    }

    /// Fulfilled when a task completes, with its error.
    let completed = Expectation<(any Error)?>("call of didCompleteWithError")
    /// Fulfilled when a response is received.
    let responded = Expectation<Void>("call of didReceive response")
    /// Fulfilled when data are received or written.
    let progressed = Expectation<Void>("call of didReceive data or didWriteData")
    /// Fulfilled when the session becomes invalid.
    let invalidated = Expectation<(any Error)?>("call of didBecomeInvalidWithError")
    /// Fulfilled with the metrics of a task.
    let measured = Expectation<URLSessionTaskMetrics>("call of didFinishCollecting")
    /// Fulfilled when a data task becomes a download task.
    let converted = Expectation<URLSessionDownloadTask>("call of didBecome downloadTask")

    private let decisions: Decisions
    private let state = Mutex(Record())

    init(_ decisions: Decisions = Decisions()) { self.decisions = decisions }

    /// The values received so far.
    var record: Record { self.state.withLock { $0 } }

    /// Waits for the completion, which must be without an error.
    func success() async throws -> Record {
        if let error = try await self.completed.value() { throw BehaviourFailure("the task failed: \(error)") }
        return self.record
    }

    private func note(_ name: String, _ change: (inout Record) -> Void = { _ in }) {
        self.state.withLock { record in
            if record.callbacks.last != name || name == "redirect" || name == "complete" {
                record.callbacks.append(name)
            }
            change(&record)
        }
        self.decisions.observe?(name)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        self.note("invalid")
        self.invalidated.fulfill(error)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        self.note("complete")
        self.completed.fulfill(error)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        self.note("sent") { $0.sent.append((totalBytesSent, totalBytesExpectedToSend)) }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        self.note("stream")
        completionHandler(self.decisions.body?())
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        self.note("challenge") {
            $0.challenges.append((space.authenticationMethod, space.realm, challenge.previousFailureCount))
        }
        let (disposition, credential) = self.decisions.challenge?(challenge) ?? (.performDefaultHandling, nil)
        completionHandler(disposition, credential)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        self.note("redirect") { $0.redirects.append((response, request)) }
        if let redirect = self.decisions.redirect {
            redirect(response, request, completionHandler)
        } else {
            completionHandler(request)
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        self.measured.fulfill(metrics)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        self.note("response") { $0.response = response }
        self.responded.fulfill()
        completionHandler(self.decisions.response?(response) ?? .allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        self.note("data") { $0.data.append(data) }
        self.progressed.fulfill()
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {
        self.note("become")
        self.converted.fulfill(downloadTask)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        if let cache = self.decisions.cache {
            completionHandler(cache(proposedResponse))
        } else {
            completionHandler(proposedResponse)
        }
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        self.note("written") { $0.written.append((totalBytesWritten, totalBytesExpectedToWrite)) }
        self.progressed.fulfill()
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        self.note("resumed") { $0.resumedOffsets.append(fileOffset) }
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        let content = try? Data(contentsOf: location)
        self.note("finish") { record in
            record.contentAtFinish = content
            record.sizeAtFinish = content.map { Int64($0.count) }
            record.response = downloadTask.response
        }
    }
}

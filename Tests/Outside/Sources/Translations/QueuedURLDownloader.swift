// SPDX-License-Identifier: Apache-2.0
import Foundation
#if MARTLET
import MartletURLSession
#else
import FoundationNetworking
#endif

/// The screen with the pictures.
protocol QueuedURLDownloaderDelegate: AnyObject, Sendable {
    func didFinishLoading(_ data: Data, withUserInfo info: [String: String])
    func downloadDidFail(withError error: any Error, withUserInfo info: [String: String])
    func didAllCompleted()
    func dowloadCanceled()
}

// `@unchecked Sendable`: after `start`, the session's delegate queue alone uses the data.
/// One URL: the delegate of its connection, which is a task today.
final class QueuedURLDownloaderElem: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let url: URL
    private let userInfo: [String: String]
    private weak var downloader: QueuedURLDownloader?
    private var data = Data()

    init(_ url: URL, _ userInfo: [String: String], _ downloader: QueuedURLDownloader) {
        self.url = url
        self.userInfo = userInfo
        self.downloader = downloader
    }

    // snippet: translation-queue-element
    func start(in session: URLSession, timeoutInterval: TimeInterval) -> URLSessionDataTask {
        let request = URLRequest(url: self.url, timeoutInterval: timeoutInterval)
        let connection = session.dataTask(with: request)
        connection.delegate = self
        connection.resume()
        return connection
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        self.data.append(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error {
            self.downloader?.delegate?.downloadDidFail(withError: error, withUserInfo: self.userInfo)
        } else {
            self.downloader?.delegate?.didFinishLoading(self.data, withUserInfo: self.userInfo)
        }
        self.downloader?.completed(self)
    }
    // end
}

// `@unchecked Sendable`: the condition guards every variable but the delegate, which is set before the start.
/// Loads a few URLs at once.
final class QueuedURLDownloader: @unchecked Sendable {
    weak var delegate: (any QueuedURLDownloaderDelegate)?
    var timeoutInterval: TimeInterval = 10

    private let session = URLSession(configuration: .default)
    private let condition = NSCondition()
    private let maxAtSameTime: Int
    private var waiting: [QueuedURLDownloaderElem] = []
    private var running: [ObjectIdentifier: (elem: QueuedURLDownloaderElem, connection: URLSessionDataTask)] = [:]
    private var isStarted = false
    private var isQueuingFinished = false
    private var isStopping = false
    private var isReported = false

    init(maxAtSameTime: Int) { self.maxAtSameTime = maxAtSameTime }

    // snippet: translation-queue
    func addURL(_ url: URL, withUserInfo info: [String: String]) {
        self.condition.withLock { self.waiting.append(QueuedURLDownloaderElem(url, info, self)) }
        self.downloadNext()
    }

    private func downloadNext() {
        self.condition.withLock {
            while self.isStarted, !self.isStopping, self.running.count < self.maxAtSameTime, !self.waiting.isEmpty {
                let elem = self.waiting.removeFirst()
                let connection = elem.start(in: self.session, timeoutInterval: self.timeoutInterval)
                self.running[ObjectIdentifier(elem)] = (elem, connection)
            }
        }
    }

    func waitCompleted() {
        self.condition.withLock {
            while self.isStarted, !self.isReported { self.condition.wait() }
        }
    }
    // end

    func start() {
        self.condition.withLock { self.isStarted = true }
        self.downloadNext()
        self.reportIfCompleted()
    }

    func finishQueuing() {
        self.condition.withLock { self.isQueuingFinished = true }
        self.reportIfCompleted()
    }

    func requireStopping() {
        let connections = self.condition.withLock {
            self.isStopping = true
            self.waiting = []
            return self.running.values.map(\.connection)
        }
        for connection in connections { connection.cancel() }
        self.reportIfCompleted()
    }

    var isCompleted: Bool { self.condition.withLock { self.isReported } }

    /// An element's connection has ended.
    fileprivate func completed(_ elem: QueuedURLDownloaderElem) {
        self.condition.withLock { self.running[ObjectIdentifier(elem)] = nil }
        self.downloadNext()
        self.reportIfCompleted()
    }

    private func reportIfCompleted() {
        let isLast = self.condition.withLock {
            let isDone = self.waiting.isEmpty && (self.isQueuingFinished || self.isStopping)
            guard self.isStarted, self.running.isEmpty, isDone, !self.isReported else { return false }
            self.isReported = true
            return true
        }
        guard isLast else { return }
        if self.isStopping { self.delegate?.dowloadCanceled() } else { self.delegate?.didAllCompleted() }
        self.condition.withLock { self.condition.broadcast() }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
#if MARTLET
import MartletURLSession
#else
import FoundationNetworking
#endif

// `@unchecked Sendable`: the delegate queue and, before `resume`, one thread use the variables.
/// The article's first screen: ten downloads, five connections to the host.
final class TenDownloads: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    var progressHandler: (URLSessionDownloadTask, Int64, Int64) -> Void = { _, _, _ in }
    var fileHandler: (URLSessionDownloadTask, URL) -> Void = { _, _ in }
    var completionHandler: (URLSessionTask, (any Error)?) -> Void = { _, _ in }

    // snippet: translation-ten
    func makeSession(timeout: TimeInterval) -> URLSession {
        let configuration = URLSessionConfiguration.default
        configuration.httpMaximumConnectionsPerHost = 5
        configuration.timeoutIntervalForRequest = timeout
        return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    func startTasks(_ urls: [URL], in session: URLSession) {
        for url in urls { session.downloadTask(with: url).resume() }
    }
    // end

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        self.progressHandler(downloadTask, totalBytesWritten, totalBytesExpectedToWrite)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        self.fileHandler(downloadTask, location)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        self.completionHandler(task, error)
    }
}

// `@unchecked Sendable`: the lock guards the resume data; the task is set by the thread that presses the buttons.
/// The second screen: one download with the buttons Stop and Continue.
final class ResumableDownload: @unchecked Sendable {
    private let session: URLSession
    private let lock = NSLock()
    private var resumeData: Data?
    private var task: URLSessionDownloadTask?

    init(session: URLSession) { self.session = session }

    // snippet: translation-resume
    func start(_ url: URL) {
        self.task = self.session.downloadTask(with: url)
        self.task?.resume()
    }

    func stop(completionHandler: @escaping @Sendable () -> Void) {
        guard let task = self.task else { return completionHandler() }
        task.cancel { resumeData in
            self.lock.withLock { self.resumeData = resumeData }
            completionHandler()
        }
    }

    func continueDownload() -> Bool {
        guard let resumeData = self.lock.withLock({ self.resumeData }) else { return false }
        self.task = self.session.downloadTask(withResumeData: resumeData)
        self.task?.resume()
        return true
    }
    // end
}

// `@unchecked Sendable`: the lock guards the completion handler.
/// The third screen: a download that survives the app.
final class BackgroundApp: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    private let destination: URL
    private let lock = NSLock()
    private var completionHandler: (@Sendable () -> Void)?

    init(destination: URL) { self.destination = destination }

    // snippet: translation-background
    lazy var backgroundSession: URLSession = {
        let configuration = URLSessionConfiguration.background(withIdentifier: "jp.example.background")
        configuration.isDiscretionary = false
        Self.launchAgain(configuration)
        return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }()

    func application(
        handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void
    ) {
        self.lock.withLock { self.completionHandler = completionHandler }
        _ = self.backgroundSession
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        session.getTasksWithCompletionHandler { _, _, downloadTasks in
            guard downloadTasks.isEmpty else { return }
            let handler = self.lock.withLock {
                defer { self.completionHandler = nil }
                return self.completionHandler
            }
            handler?()
        }
    }
    // end

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        try? FileManager.default.moveItem(at: location, to: self.destination)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error { print("failed: \(error)") }
    }

    /// Names the program to start for the events.
    ///
    /// On a phone the system knows the app. Foundation has nothing like it on Linux.
    private static func launchAgain(_ configuration: URLSessionConfiguration) {
        #if MARTLET
        let words = [Words.program] + CommandLine.arguments.dropFirst()
        configuration.adjust = { $0.wakeCommand = words }
        #endif
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import TransferCore

/// The tasks of a background session; the tests replace the system's.
///
/// Every member is called on the lane.
protocol BackgroundTasks: AnyObject, Sendable {
    /// Makes and resumes a task.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - description: The description, which the system keeps with the task.
    ///   - resumption: What a cancelled or failed task has left, or `nil`.
    /// - Returns: The task's number.
    func begin(_ request: URLRequest, description: String, resuming resumption: SystemResumption?) -> Int

    /// Cancels a task.
    ///
    /// - Parameters:
    ///   - task: The task's number.
    ///   - done: Called once on any thread, with what it can be resumed with.
    func cancel(_ task: Int, _ done: @escaping @Sendable (SystemResumption?) -> Void)

    /// Lists the tasks, also those of an earlier run of the program.
    ///
    /// - Parameter done: Called once on any thread, with their numbers and descriptions.
    func list(_ done: @escaping @Sendable ([(number: Int, description: String?)]) -> Void)
}

/// Receives what the tasks of a background session report, on the lane.
protocol BackgroundTasksReceiver: AnyObject, Sendable {
    /// A task has a complete response; its file is deleted when this returns.
    func finished(_ task: Int, description: String?, _ head: ReportedHead, from url: String, file: URL)

    /// A task has ended with an error.
    func failed(_ task: Int, description: String?, _ error: any Error, _ resumption: SystemResumption?)

    /// All events of the time without the program were reported.
    func eventsReported()
}

/// The tasks of a background `URLSession`, and its delegate.
///
/// FoundationNetworking has no background sessions: there the tasks are those of an ordinary session and end with the
/// program.
///
/// `@unchecked Sendable`: the variables are used on the lane only, on which the session calls its delegate.
final class SystemBackgroundTasks: NSObject, BackgroundTasks, URLSessionDownloadDelegate, @unchecked Sendable {
    private weak var receiver: (any BackgroundTasksReceiver)?
    private var session: URLSession?
    private var tasks: [Int: URLSessionDownloadTask] = [:]

    /// `NSURLSessionDownloadTaskResumeData`, whose name differs between the systems.
    private static let resumeData = "NSURLSessionDownloadTaskResumeData"

    init(_ options: SystemBackground, on lane: SystemLane, receiver: any BackgroundTasksReceiver) {
        self.receiver = receiver
        super.init()
        #if canImport(FoundationNetworking)
        let configuration = URLSessionConfiguration.forEngine(.ephemeral)
        #else
        let configuration = URLSessionConfiguration.forEngine(.background(withIdentifier: options.identifier))
        configuration.sessionSendsLaunchEvents = true
        configuration.isDiscretionary = options.isDiscretionary
        configuration.allowsExpensiveNetworkAccess = options.allowsExpensiveNetwork
        #endif
        options.adjust?(configuration)
        self.session = URLSession(
            configuration: configuration,
            delegate: self,
            delegateQueue: lane.makeDelegateQueue()
        )
    }

    func begin(_ request: URLRequest, description: String, resuming resumption: SystemResumption?) -> Int {
        // The session ends with the process only.
        guard let session else { return -1 }
        let task =
            resumption.map { session.downloadTask(withResumeData: $0.data) } ?? session.downloadTask(with: request)
        task.taskDescription = description
        self.tasks[task.taskIdentifier] = task
        task.resume()
        return task.taskIdentifier
    }

    func cancel(_ task: Int, _ done: @escaping @Sendable (SystemResumption?) -> Void) {
        guard let known = self.tasks[task] else { return done(nil) }
        known.cancel { data in done(SystemResumption(data, of: known.reportedHead)) }
    }

    func list(_ done: @escaping @Sendable ([(number: Int, description: String?)]) -> Void) {
        guard let session else { return done([]) }
        session.getAllTasks { tasks in
            session.delegateQueue.addOperation {
                for case let task as URLSessionDownloadTask in tasks { self.tasks[task.taskIdentifier] = task }
                // The program was killed between the making of a task and its start.
                for task in tasks where task.state == .suspended { task.resume() }
                done(tasks.map { ($0.taskIdentifier, $0.taskDescription) })
            }
        }
    }

    // MARK: Delegate

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        guard let head = downloadTask.reportedHead, let receiver = self.receiver else { return }
        self.tasks[downloadTask.taskIdentifier] = nil
        receiver.finished(
            downloadTask.taskIdentifier,
            description: downloadTask.taskDescription,
            head,
            from: downloadTask.response?.url?.absoluteString ?? "",
            file: location
        )
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let isOpen = self.tasks.removeValue(forKey: task.taskIdentifier) != nil
        // A task without an error and without a file had no response of HTTP.
        guard let error = error ?? (isOpen ? URLError(.badServerResponse) : nil) else { return }
        self.receiver?
            .failed(
                task.taskIdentifier,
                description: task.taskDescription,
                error,
                SystemResumption((error as NSError).userInfo[Self.resumeData] as? Data, of: task.reportedHead)
            )
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(challenge.isForHTTP ? .rejectProtectionSpace : .performDefaultHandling, nil)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { self.receiver?.eventsReported() }
}

extension URLSessionTask {
    /// The head of its response, or `nil`.
    fileprivate var reportedHead: ReportedHead? { (self.response as? HTTPURLResponse).map { ReportedHead($0) } }
}

// SPDX-License-Identifier: Apache-2.0
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif
internal import Martlet
internal import MartletFoundation
internal import Synchronization

/// A handler of the end of a task whose body is in memory: data and response, or the error.
public typealias URLSessionDataHandler = @Sendable (Data?, URLResponse?, (any Error)?) -> Void
/// A handler of the end of a download task: file and response, or the error.
public typealias URLSessionFileHandler = @Sendable (URL?, URLResponse?, (any Error)?) -> Void

/// The tasks of a session.
extension URLSession {
    /// Passes the tasks that were started and are not complete to a handler, on the delegate's queue.
    public func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) -> Void
    ) {
        self.getAllTasks { tasks in
            completionHandler(
                tasks.compactMap { $0 is URLSessionUploadTask ? nil : $0 as? URLSessionDataTask },
                tasks.compactMap { $0 as? URLSessionUploadTask },
                tasks.compactMap { $0 as? URLSessionDownloadTask }
            )
        }
    }

    /// Passes the tasks that were started and are not complete to a handler, on the delegate's queue.
    ///
    /// In a background session they include those of earlier runs of the program; the handler is then called when the
    /// daemon has reported them.
    public func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
        Task {
            let tasks = await self.allTasks
            self.delegateQueue.addOperation { completionHandler(tasks) }
        }
    }

    /// The tasks that were started and are not complete.
    public var allTasks: [URLSessionTask] {
        get async {
            if let transfers = self.backgroundTransfers {
                let known = await transfers.tasks()
                for transfer in known.download as [TransferTask] + known.upload { _ = self.task(of: transfer) }
            }
            return self.state.withLock { state in
                state.tasks.values.filter(\.isListed).sorted { $0.taskIdentifier < $1.taskIdentifier }
            }
        }
    }

    /// The tasks that were started and are not complete, by kind.
    public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            let tasks = await self.allTasks
            return (
                tasks.compactMap { $0 is URLSessionUploadTask ? nil : $0 as? URLSessionDataTask },
                tasks.compactMap { $0 as? URLSessionUploadTask },
                tasks.compactMap { $0 as? URLSessionDownloadTask }
            )
        }
    }

    func resumed(
        _ data: Data,
        _ sink: TaskSink,
        _ own: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionDownloadTask {
        let decoded = try? ResumeData(data)
        let request = decoded.flatMap { URL(string: $0.url) }.map { URLRequest(url: $0) }
        return self.made(URLSessionDownloadTask(self, request, .resumed(decoded), sink), own)
    }

    /// Notifies the delegate of a new task, before the function that creates it returns.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - own: The task's own delegate.
    /// - Returns: The task.
    func made<Made: URLSessionTask>(_ task: Made, _ own: (any URLSessionTaskDelegate)? = nil) -> Made {
        if let own { task.delegate = own }
        task.taskDelegate?.urlSession(self, didCreateTask: task)
        return task
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

/// Runs a session's transfers: the engine in this process, or the daemon.
///
/// Every method may be called from any thread, and returns at once.
protocol TransferRunner: AnyObject, Sendable {
    /// Adds a task's transfer.
    ///
    /// - Throws: ``TransferError`` if it cannot be added.
    func add(_ task: TransferTask) throws(TransferError) -> TransferID

    func pause(_ id: TransferID)
    func resume(_ id: TransferID)
    func cancel(_ id: TransferID, keeping: Bool)

    /// Reports that the task of a paused transfer was released.
    func abandon(_ id: TransferID)

    /// The state of a transfer; `nil` once it has ended.
    func state(of id: TransferID) -> TransferState?
    /// The progress, as far as it is known; `nil` if the transfer does not run.
    func progress(of id: TransferID) -> (bytes: Int64, total: Int64?)?

    /// The hold that concerns the host of a task, if it is known.
    func hold(of task: TransferTask) -> HostHold?

    func setPriority(_ priority: Priority, of id: TransferID)
    func setRateLimit(_ rate: Int64?, of id: TransferID)

    /// The number of running transfers.
    var runningCount: Int { get }
    func setConcurrentTransfers(_ count: Int)
    func setConnectionsPerHost(_ count: Int)
    func setRateLimit(_ rate: Int64?)
}

extension TransferEngine: TransferRunner {
    func add(_ task: TransferTask) throws(TransferError) -> TransferID {
        do throws(EngineError) {
            if let upload = task as? UploadTask { return try self.add(task.session.uploadRequest(upload)) }
            return try self.add(task.session.downloadRequest(task))
        } catch {
            switch error.code {
            case .closed: throw TransferError(.invalidated, error.message)
            case .badName, .nameTaken: throw TransferError(.badDestination, error.message)
            }
        }
    }

    func abandon(_ id: TransferID) { self.cancel(id) }

    func hold(of task: TransferTask) -> HostHold? { self.hold(of: task.request.url) }

    var runningCount: Int { self.counts.running }
}

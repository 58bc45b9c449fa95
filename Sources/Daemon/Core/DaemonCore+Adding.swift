package import Control
internal import FileStorage
internal import QueueStore
internal import TransferCore
internal import TransferEngine

extension DaemonCore {
    /// Adds transfers in the given order, all or none.
    package func add(_ entries: [NewTransfer], at position: Int?) async throws(ControlError) -> [GID] {
        guard !self.isStopping else { throw Self.stopping }
        guard !self.isFull else { throw ControlError(QueueStoreError(.full, "")) }
        if let position, position < 0 {
            throw ControlError(.badParameter, "the position \(position) is negative", remedy: "positions begin with 0")
        }
        var transfers: [StoredTransfer] = []
        transfers.reserveCapacity(entries.count)
        let now = self.now
        for (index, entry) in entries.enumerated() {
            do throws(ControlError) {
                transfers.append(try self.check(entry, now))
            } catch {
                guard entries.count > 1 else { throw error }
                throw ControlError(error.code, "entry \(index): \(error.message)", remedy: error.remedy)
            }
        }
        guard !transfers.isEmpty else { return [] }
        let groups = Self.groups(transfers)
        let sessions = Set(groups.compactMap(\.first).map(\.session))
        try await self.change(
            { (writer) throws(QueueStoreError) in for group in groups { try writer.add(group, at: position) } },
            touching: { _ in sessions },
            then: { core, _ in for group in groups { core.added(group, at: position) } }
        )
        return transfers.map(\.id)
    }

    /// Validates an entry and returns the transfer to store.
    private func check(_ entry: NewTransfer, _ now: Double) throws(ControlError) -> StoredTransfer {
        if let session = entry.session, self.sessions[session] == nil {
            throw ControlError(.notFound, "there is no session '\(session)'", remedy: "open it first")
        }
        var stored = StoredTransfer(
            id: entry.id ?? .random(),
            session: entry.session,
            state: entry.isPaused ? .paused : .waiting,
            urls: entry.urls,
            options: entry.options,
            directory: try self.directory(entry.options),
            added: now
        )
        if let upload = entry.upload {
            stored.upload = upload
            stored.path = upload.path
        }
        // Options that have become members are not stored twice.
        for name in [OptionName.gid, .pause, .position, .dir] { stored.options[name] = nil }
        stored.priority = try RequestPlan.priority(entry.options)
        try self.checkFirst(stored)
        try self.checkFiles(stored)
        return stored
    }

    /// Throws if a file to send cannot be opened: otherwise that would be noticed only when the transfer starts.
    private func checkFiles(_ stored: StoredTransfer) throws(ControlError) {
        for path in stored.upload?.files ?? [] {
            do throws(StorageError) {
                _ = try self.parts.store.openSource(path)
            } catch {
                throw ControlError(.badParameter, error.message, remedy: "name a file that the daemon may read")
            }
        }
    }

    /// Throws if a transfer's options are invalid; otherwise keeps its plan until it is staged.
    private func checkFirst(_ stored: StoredTransfer) throws(ControlError) {
        guard stored.state == .waiting, self.plans.count < Self.mostPlans, let lane = self.lanes[stored.session] else {
            return try self.checkOptions(stored)
        }
        self.plans[stored.id] = try lane.plan(stored)
    }

    /// Throws if no request can be made from the stored transfer.
    nonisolated func checkOptions(_ stored: StoredTransfer) throws(ControlError) {
        _ = try RequestPlan(
            urls: stored.urls,
            upload: stored.upload,
            options: stored.options,
            directory: stored.directory,
            base: DownloadOptions(),
            baseFields: []
        )
    }

    /// Returns the absolute directory of a transfer's file.
    nonisolated func directory(_ options: TransferOptions) throws(ControlError) -> String {
        let directory = options[.dir] ?? self.globalOptions[.dir] ?? self.configuration.directory
        guard directory.hasPrefix("/"), !directory.utf8.contains(0) else {
            throw ControlError(.badParameter, "the option 'dir' is no absolute path", remedy: "begin it with '/'")
        }
        return directory
    }

    /// Groups entries by queue, in their order.
    private static func groups(_ transfers: [StoredTransfer]) -> [[StoredTransfer]] {
        guard let first = transfers.first else { return [] }
        if transfers.allSatisfy({ $0.session == first.session }) { return [transfers] }
        var order: [String?] = []
        var groups: [String?: [StoredTransfer]] = [:]
        for transfer in transfers {
            if groups[transfer.session] == nil { order.append(transfer.session) }
            groups[transfer.session, default: []].append(transfer)
        }
        return order.compactMap { groups[$0] }
    }

    private func added(_ group: [StoredTransfer], at position: Int?) {
        guard let session = group.first?.session as String?? else { return }
        if self.isHeard {
            for transfer in group { self.tell(.queued(self.record(transfer))) }
        }
        guard let priority = group.lazy.filter({ $0.state == .waiting }).map(\.priority).max() else { return }
        self.nowWaits(session, priority: priority, mayPrecede: position != nil)
    }

    /// Opens a queue's lane and notifies the machine of newly waiting transfers.
    ///
    /// - Parameters:
    ///   - session: The queue.
    ///   - priority: The greatest priority among the added transfers.
    ///   - mayPrecede: Whether they may precede transfers that wait already.
    func nowWaits(_ session: String?, priority: Int, mayPrecede: Bool) {
        self.lane(session)
        self.machine.added(session, priority: priority, mayPrecede: mayPrecede)
    }
}

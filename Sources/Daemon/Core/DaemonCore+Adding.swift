// SPDX-License-Identifier: Apache-2.0
package import Control
internal import FileStorage
internal import QueueStore
internal import TransferCore
internal import TransferEngine

extension DaemonCore {
    /// Adds transfers in the given order, all or none.
    package func add(_ entries: [NewTransfer], at position: Int?) async throws(ControlError) -> [GID] {
        try self.checkAdding()
        var checked: [Addition] = []
        checked.reserveCapacity(entries.count)
        let now = self.now
        for (index, entry) in entries.enumerated() {
            do throws(ControlError) {
                checked.append(try self.check(PlacedTransfer(entry, at: position), now))
            } catch {
                guard entries.count > 1 else { throw error }
                throw ControlError(error.code, "entry \(index): \(error.message)", remedy: error.remedy)
            }
        }
        guard !checked.isEmpty else { return [] }
        let groups = Self.groups(checked)
        try await self.change(
            adding: groups,
            { (writer) throws(QueueStoreError) in
                for group in groups { try writer.add(group.map(\.transfer), at: position) }
            },
            then: { core, _ in for group in groups { core.added(group) } }
        )
        return checked.map(\.transfer.id)
    }

    /// Adds transfers in the given order in one transaction; an invalid one does not affect the others.
    package func addEach(_ entries: [PlacedTransfer]) async -> [Result<GID, ControlError>] {
        var results: [Result<GID, ControlError>] = []
        results.reserveCapacity(entries.count)
        var checked: [Addition] = []
        var places: [Int] = []
        let now = self.now
        for (index, entry) in entries.enumerated() {
            do throws(ControlError) {
                try self.checkAdding()
                let one = try self.check(entry, now)
                checked.append(one)
                places.append(index)
                results.append(.success(one.transfer.id))
            } catch {
                results.append(.failure(error))
            }
        }
        guard !checked.isEmpty else { return results }
        let runs = Self.runs(checked)
        do throws(ControlError) {
            let failures = try await self.change(
                adding: runs,
                { (writer) throws(QueueStoreError) in try Self.add(runs, writer) },
                then: { core, failures in
                    var index = 0
                    for run in runs {
                        core.added(run.indices.filter { failures[index + $0] == nil }.map { run[$0] })
                        index += run.count
                    }
                }
            )
            for (index, failure) in failures { results[places[index]] = .failure(ControlError(failure)) }
        } catch {
            for place in places { results[place] = .failure(error) }
        }
        return results
    }

    /// Stores transfers, and takes from the same transaction those that can start.
    private func change<T: Sendable>(
        adding groups: [[Addition]],
        _ work: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> T,
        then apply: @escaping @Sendable (isolated DaemonCore, T) -> Void
    ) async throws(ControlError) -> T {
        let claims = self.claims(adding: groups)
        let (value, _) = try await self.change(
            { (writer) throws(QueueStoreError) in
                let value = try work(writer)
                // The addition does not depend on what can start.
                return (value, claims.map { try? writer.reader.nextToRun($0.query) })
            },
            touching: { _ in Set(groups.compactMap(\.first).map(\.transfer.session)) },
            then: { core, result in
                apply(core, result.0)
                for (claim, found) in zip(claims, result.1) {
                    if let found {
                        core.claimed(claim.session, claim.claim, found)
                    } else {
                        core.machine.claimFailed(claim.session)
                    }
                }
            },
            otherwise: { core in for claim in claims { core.machine.claimDropped(claim.session) } }
        )
        return value
    }

    /// Adds runs of transfers; returns the errors of those whose identifiers already exist, by index.
    private static func add(
        _ runs: [[Addition]],
        _ writer: borrowing QueueWriter
    ) throws(QueueStoreError) -> [Int: QueueStoreError] {
        var failures: [Int: QueueStoreError] = [:]
        var index = 0
        for run in runs {
            if try self.add(run, writer) != nil {
                // At least one of them exists: only the existing ones are left out.
                for (place, one) in run.enumerated() { failures[index + place] = try self.add([one], writer) }
            }
            index += run.count
        }
        return failures
    }

    /// Adds all transfers of a run or none; returns the error if an identifier already exists.
    private static func add(
        _ run: [Addition],
        _ writer: borrowing QueueWriter
    ) throws(QueueStoreError) -> QueueStoreError? {
        do throws(QueueStoreError) {
            try writer.add(run.map(\.transfer), at: run.first?.position)
            return nil
        } catch {
            guard case .duplicate = error.code else { throw error }
            return error
        }
    }

    private func checkAdding() throws(ControlError) {
        guard !self.isStopping else { throw Self.stopping }
        guard !self.isFull else { throw ControlError(QueueStoreError(.full, "")) }
    }

    /// Validates an entry and returns the transfer to store.
    private func check(_ placed: PlacedTransfer, _ now: Double) throws(ControlError) -> Addition {
        let entry = placed.transfer
        if let position = placed.position, position < 0 {
            throw ControlError(.badParameter, "the position \(position) is negative", remedy: "positions start at 0")
        }
        if let session = entry.session, self.sessions[session] == nil {
            throw ControlError(.notFound, "the session '\(session)' does not exist", remedy: "open it first")
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
        stored.options.remove([.gid, .pause, .position, .dir])
        stored.priority = try RequestPlan.priority(entry.options)
        let plan = try self.checkFirst(stored)
        try self.checkFiles(stored)
        return Addition(stored, plan, generation: self.added.generation, position: placed.position)
    }

    /// Throws if a file to send cannot be opened: otherwise the error would appear only when the transfer starts.
    private func checkFiles(_ stored: StoredTransfer) throws(ControlError) {
        for path in stored.upload?.files ?? [] {
            do throws(StorageError) {
                _ = try self.parts.store.openSource(path)
            } catch {
                throw ControlError(.badParameter, error.message, remedy: "name a file that the daemon can read")
            }
        }
    }

    /// Throws if a transfer's options are invalid; otherwise returns its plan if there is room to keep it.
    private func checkFirst(_ stored: StoredTransfer) throws(ControlError) -> RequestPlan? {
        guard stored.state == .waiting, self.added.hasRoom else {
            try self.checkOptions(stored)
            return nil
        }
        return try self.lane(stored.session).plan(stored)
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
            throw ControlError(.badParameter, "the option 'dir' is not an absolute path", remedy: "start it with '/'")
        }
        return directory
    }

    /// Groups entries by queue, in their order.
    private static func groups(_ entries: [Addition]) -> [[Addition]] {
        guard let first = entries.first else { return [] }
        if entries.allSatisfy({ $0.transfer.session == first.transfer.session }) { return [entries] }
        var order: [String?] = []
        var groups: [String?: [Addition]] = [:]
        for entry in entries {
            if groups[entry.transfer.session] == nil { order.append(entry.transfer.session) }
            groups[entry.transfer.session, default: []].append(entry)
        }
        return order.compactMap { groups[$0] }
    }

    /// Splits entries into runs that can be added together: of one queue and at its end, or a single entry.
    private static func runs(_ entries: [Addition]) -> [[Addition]] {
        var runs: [[Addition]] = []
        for entry in entries {
            if entry.position == nil, let last = runs.last?.last, last.position == nil,
                last.transfer.session == entry.transfer.session
            {
                runs[runs.count - 1].append(entry)
            } else {
                runs.append([entry])
            }
        }
        return runs
    }

    /// Adopts stored entries of one queue.
    private func added(_ group: [Addition]) {
        guard let first = group.first else { return }
        for entry in group { self.added.keep(entry) }
        if self.isHeard(.queued) {
            for entry in group { self.tell(.queued(self.record(entry.transfer))) }
        }
        let waiting = group.lazy.filter { $0.transfer.state == .waiting }
        guard let priority = waiting.map(\.transfer.priority).max() else { return }
        self.nowWaits(first.transfer.session, priority: priority, mayPrecede: first.position != nil)
    }

    /// Opens a queue's lane and notifies the machine of newly waiting transfers.
    ///
    /// - Parameters:
    ///   - session: The queue.
    ///   - priority: The greatest priority among the added transfers.
    ///   - mayPrecede: Whether they may precede transfers that are already waiting.
    func nowWaits(_ session: String?, priority: Int, mayPrecede: Bool) {
        self.lane(session)
        self.machine.added(session, priority: priority, mayPrecede: mayPrecede)
    }
}

// SPDX-License-Identifier: Apache-2.0
package import Control
internal import FileStorage
internal import QueueStore
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Options and URLs of transfers, and the global options.
extension DaemonCore {
    /// A transfer before and after a change.
    fileprivate struct Edit: Sendable {
        var before: StoredTransfer
        var after: StoredTransfer
    }

    /// Reads, changes and writes a transfer in one transaction, so that concurrent changes do not overwrite each other.
    private func edit(
        _ id: GID,
        _ change: @escaping @Sendable (inout StoredTransfer) throws(ControlError) -> Void,
        then apply: @escaping @Sendable (isolated DaemonCore, Edit) -> Void
    ) async throws(ControlError) -> Edit {
        let result: Result<Edit, ControlError> = try await self.change(
            { (writer) throws(QueueStoreError) in
                guard let before = try writer.reader.transfer(id) else { throw QueueStoreError(.notFound(id), "") }
                guard before.state != .finished, before.state != .removed else {
                    throw QueueStoreError(.wrongState(id, before.state), "")
                }
                var after = before
                do throws(ControlError) {
                    try change(&after)
                    try self.checkOptions(after)
                } catch {
                    return .failure(error)
                }
                if after.urls != before.urls { try writer.setURLs(after.urls, of: id) }
                if after.options != before.options || after.directory != before.directory {
                    try writer.setOptions(after.options, directory: after.directory, of: id)
                }
                if after.priority != before.priority, !after.state.isEnd {
                    try writer.setPriority(after.priority, of: [id])
                }
                return .success(Edit(before: before, after: after))
            },
            then: { core, result in
                guard case .success(let edit) = result, !edit.before.state.isEnd else { return }
                core.added.take(id)
                let lane = core.lane(edit.before.session)
                lane.live[id]?.transfer.urls = edit.after.urls
                lane.live[id]?.transfer.options = edit.after.options
                lane.live[id]?.transfer.directory = edit.after.directory
                lane.live[id]?.transfer.priority = edit.after.priority
                apply(core, edit)
            }
        )
        return try result.get()
    }

    /// Changes a transfer's options; for a running one, limits apply immediately and other options restart it.
    package func changeOptions(_ id: GID, _ options: TransferOptions) async throws(ControlError) {
        let edit: Edit = try await self.edit(
            id,
            { (stored) throws(ControlError) in
                stored.options = stored.options.merging(options)
                for name in [OptionName.gid, .pause, .position, .dir] { stored.options[name] = nil }
                if options[.dir] != nil { stored.directory = try self.directory(options) }
                if options[.priority] != nil { stored.priority = try RequestPlan.priority(options) }
            },
            then: { core, edit in
                let session = edit.before.session
                if edit.restarts {
                    core.machine.changed(session, id.rawValue)
                } else if edit.differing.contains(.priority) {
                    core.machine.reordered(session)
                }
            }
        )
        guard !edit.before.state.isEnd else { return }
        guard !edit.restarts else { return await self.waitUntilLeft([id], edit.before.session) }
        let lane = self.lane(edit.before.session)
        let name = RequestPlan.rateOption(edit.after.upload)
        if edit.differing.contains(name) {
            let rate = try OptionReader(options: lane.settings.defaults.merging(edit.after.options)).limit(name)
            lane.setRateLimit(rate, of: id)
        }
        if edit.differing.contains(.lowestSpeedLimit) {
            let options = lane.settings.defaults.merging(edit.after.options)
            lane.setSpeedFloor(try OptionReader(options: options).speedFloor(), of: id)
        }
    }

    /// Replaces a transfer's URLs; it keeps its bytes and the name of its partial file.
    package func replaceURLs(
        _ id: GID,
        with urls: [String],
        _ options: TransferOptions = TransferOptions()
    ) async throws(ControlError) {
        let known = try await self.read { (reader) throws(QueueStoreError) in try reader.transfer(id) }
        let name = known.flatMap { self.partialName(of: $0) }
        let edit: Edit = try await self.edit(
            id,
            { (stored) throws(ControlError) in
                stored.urls = urls
                stored.options = stored.options.merging(options)
                if let name, stored.options[.out]?.isEmpty ?? true { stored.options[.out] = name }
            },
            then: { core, edit in core.machine.changed(edit.before.session, id.rawValue) }
        )
        guard !edit.before.state.isEnd else { return }
        await self.waitUntilLeft([id], edit.before.session)
        self.publish()
    }

    /// Returns the name of a download's partial file, if that name was derived from its URLs or responses.
    ///
    /// With other URLs the name could change, and the download would restart under the new name.
    private func partialName(of transfer: StoredTransfer) -> String? {
        guard transfer.upload == nil, transfer.options[.out]?.isEmpty ?? true else { return nil }
        // The engine knows the file of a running transfer; the store may not have it yet.
        let running = self.lanes[transfer.session]?.target(of: transfer.id)
        let stored = transfer.path.flatMap { path in
            path.lastIndex(of: "/")
                .map { slash in
                    FileTarget(directory: String(path[..<slash]), name: String(path[path.index(after: slash)...]))
                }
        }
        for target in [running, stored].compactMap({ $0 }) {
            guard target.path == FileTarget(directory: transfer.directory, name: target.name).path else { continue }
            let partial: PartialState
            do throws(StorageError) {
                partial = try self.parts.store.survey(target).partial
            } catch {
                // Unknown: with the same name, a partial file is continued if there is one.
                return target.name
            }
            switch partial {
            case .ours: return target.name
            case .busy where target == running: return target.name
            case .busy, .none, .committed, .foreign, .unpaired: continue
            }
        }
        return nil
    }

    // MARK: Global options

    /// Changes the global options; they survive a restart, except for those about the file of `save-session`.
    package func changeGlobalOptions(_ options: TransferOptions) async throws(ControlError) {
        let defaults = self.configuration.options
        let result: Result<TransferOptions, ControlError> = try await self.change(
            { (writer) throws(QueueStoreError) in
                let name = SettingName.options.rawValue
                let stored = try writer.reader.setting(name).flatMap { try? JSON(parsing: $0) }
                var merged = defaults.merging(TransferOptions(json: stored ?? .null)).merging(options)
                for name in [OptionName.gid, .pause, .position, .out, .checksum] { merged[name] = nil }
                do throws(ControlError) {
                    try self.checkGlobal(merged)
                } catch {
                    return .failure(error)
                }
                var kept = merged
                for name in OptionName.ofTheRun { kept[name] = nil }
                try writer.setSetting(name, kept.json.text)
                return .success(merged)
            },
            then: { core, result in
                guard case .success(let merged) = result else { return }
                core.adopt(merged, changed: options)
            }
        )
        _ = try result.get()
    }

    /// Throws if no request can be made with these defaults.
    private nonisolated func checkGlobal(_ options: TransferOptions) throws(ControlError) {
        let settings = try LaneSettings(shared: self.configuration.shared, options: options)
        _ = try self.directory(options)
        _ = try RequestPlan.priority(options)
        _ = try OptionReader(options: options).count(.maxDownloadResult)
        try self.checkOptions(
            StoredTransfer(
                id: .random(),
                urls: ["http://localhost/"],
                options: settings.defaults,
                directory: "/",
                added: 0
            )
        )
    }

    private func adopt(_ options: TransferOptions, changed: TransferOptions) {
        self.snapshot.withLock { snapshot in
            var options = options
            for name in OptionName.ofTheRun where changed[name] == nil { options[name] = snapshot.options[name] }
            snapshot.options = options
        }
        self.setHistory()
        self.added.clear()
        if changed[.outageTimeout] != nil { self.adoptInSessions() }
        guard let lane = self.lanes[nil],
            let settings = try? LaneSettings(shared: self.configuration.shared, options: options)
        else { return }
        let isRenewed = lane.settings.defaults != settings.defaults
        lane.change(settings, renewsEngines: false)
        self.machine.setLimit(settings.engine.concurrentTransfers, of: nil)
        // Transfers that have not started are staged again with the new defaults.
        if isRenewed { self.machine.restaged(nil) }
        for (id, live) in lane.live {
            let name = RequestPlan.rateOption(live.transfer.upload)
            guard changed[name] != nil, live.transfer.options[name] == nil else { continue }
            lane.setRateLimit((try? OptionReader(options: options).limit(name)) ?? nil, of: id)
        }
    }

    /// Updates the lanes of sessions, which have their own defaults except for the outage timeout.
    private func adoptInSessions() {
        for (session, lane) in self.lanes {
            guard let session else { continue }
            lane.change(self.settings(session), renewsEngines: false)
            self.machine.restaged(session)
        }
    }
}

extension DaemonCore.Edit {
    /// The options whose values differ.
    fileprivate var differing: Set<OptionName> {
        Set(OptionName.allCases.filter { self.before.options[all: $0] != self.after.options[all: $0] })
    }

    /// Whether the change requires another request.
    fileprivate var restarts: Bool {
        !self.differing.subtracting(RequestPlan.liveOptions).isEmpty || self.before.directory != self.after.directory
    }
}

extension OptionName {
    /// The global options that apply until the daemon stops: a stored path would replace that of the command line.
    fileprivate static let ofTheRun: [OptionName] = [.saveSession, .saveSessionInterval]
}

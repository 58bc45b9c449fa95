package import Control
internal import FileStorage
internal import QueueStore
internal import Synchronization
internal import TransferCore
internal import TransferEngine

extension DaemonCore {
    /// Moves a transfer in the line.
    package func move(_ id: GID, by offset: Int, from origin: MoveOrigin) async throws(ControlError) -> Int {
        let book = self.book
        let (place, session) = try await self.write { (writer) throws(QueueStoreError) in
            guard let stored = try writer.reader.transfer(id) else {
                throw QueueStoreError(.notFound(id), "")
            }
            guard !stored.state.isEnd, let here = try writer.reader.place(of: id) else {
                throw QueueStoreError(.wrongState(id, stored.state), "")
            }
            let start =
                switch origin {
                case .start: 0
                case .current: here
                case .end: max(0, book.unfinished(stored.session) - 1)
                }
            let (sum, overflow) = start.addingReportingOverflow(offset)
            let place = overflow ? (offset < 0 ? 0 : Int.max) : max(0, sum)
            return (try writer.move(id, to: place), stored.session)
        }
        self.reorder(self.lane(session))
        return place
    }

    /// Waits until nothing else is read, changed and written whole; ``endChange()`` must follow.
    private func beginChange() async {
        guard self.isChanging else {
            self.isChanging = true
            return
        }
        await withCheckedContinuation { self.changeWaiters.append($0) }
    }

    /// Hands the turn to the next one, if there is one.
    private func endChange() {
        if self.changeWaiters.isEmpty { self.isChanging = false } else { self.changeWaiters.removeFirst().resume() }
    }

    /// Merges options into a transfer's, in the store.
    ///
    /// - Returns: The transfer as it was and as it is.
    private func storeOptions(
        _ id: GID,
        _ options: TransferOptions
    ) async throws(ControlError) -> (before: StoredTransfer, after: StoredTransfer) {
        // Two at once each change their own.
        await self.beginChange()
        defer { self.endChange() }
        guard let before = try await self.read({ (reader) throws(QueueStoreError) in try reader.transfer(id) }) else {
            throw ControlError(QueueStoreError(.notFound(id), ""))
        }
        guard before.state != .finished, before.state != .removed else {
            throw ControlError(QueueStoreError(.wrongState(id, before.state), ""))
        }
        var changed = before
        changed.options = before.options.merging(options)
        for name in [OptionName.gid, .pause, .position, .dir] { changed.options[name] = nil }
        if options[.dir] != nil { changed.directory = try self.directory(options) }
        changed.priority = options[.priority] == nil ? before.priority : try RequestPlan.priority(options)
        try self.checkOptions(changed)
        let after = changed
        try await self.write { (writer) throws(QueueStoreError) in
            try writer.setOptions(after.options, directory: after.directory, of: id)
            if after.priority != before.priority, !after.state.isEnd {
                try writer.setPriority(after.priority, of: [id])
            }
        }
        return (before, after)
    }

    /// Changes a transfer's options; one that runs takes limits at once and starts anew for the others.
    package func changeOptions(_ id: GID, _ options: TransferOptions) async throws(ControlError) {
        let (before, after) = try await self.storeOptions(id, options)
        guard !before.state.isEnd else { return }
        let lane = self.lane(before.session)
        lane.queue.update(id) {
            ($0.options, $0.directory, $0.priority) = (after.options, after.directory, after.priority)
        }
        let differing = Set(
            OptionName.allCases.filter { before.options[all: $0] != after.options[all: $0] }
        )
        if differing.subtracting(RequestPlan.liveOptions).isEmpty, before.directory == after.directory {
            let name = RequestPlan.rateOption(after.upload)
            if differing.contains(name) {
                let rate = try OptionReader(options: lane.settings.defaults.merging(after.options)).limit(name)
                lane.setRateLimit(rate, of: id)
            }
            if differing.contains(.lowestSpeedLimit) {
                lane.live[id]?.speed = try OptionReader(options: after.options).limit(.lowestSpeedLimit)
                    .map { SpeedWatch(lowest: $0) }
            }
            if differing.contains(.priority) { self.reorder(lane) }
        } else {
            await self.startAnew(lane, id)
        }
    }

    /// Replaces a transfer's URLs and keeps its bytes, and with them the file's name.
    package func replaceURLs(_ id: GID, with urls: [String]) async throws(ControlError) {
        let (before, after) = try await self.storeURLs(id, urls)
        guard !before.state.isEnd else { return }
        let lane = self.lane(before.session)
        lane.queue.update(id) { ($0.urls, $0.options) = (after.urls, after.options) }
        await self.startAnew(lane, id)
    }

    /// Replaces a transfer's URLs in the store.
    ///
    /// - Returns: The transfer before and after.
    private func storeURLs(
        _ id: GID,
        _ urls: [String]
    ) async throws(ControlError) -> (before: StoredTransfer, after: StoredTransfer) {
        await self.beginChange()
        defer { self.endChange() }
        guard let before = try await self.read({ (reader) throws(QueueStoreError) in try reader.transfer(id) }) else {
            throw ControlError(QueueStoreError(.notFound(id), ""))
        }
        guard before.state != .finished, before.state != .removed else {
            throw ControlError(QueueStoreError(.wrongState(id, before.state), ""))
        }
        var changed = before
        changed.urls = urls
        if let name = self.partialName(of: before) { changed.options[.out] = name }
        try self.checkOptions(changed)
        let after = changed
        try await self.write { (writer) throws(QueueStoreError) in
            try writer.setURLs(after.urls, of: id)
            if after.options != before.options {
                try writer.setOptions(after.options, directory: after.directory, of: id)
            }
        }
        return (before, after)
    }

    /// The name of a download's partial file, if it has one under a name that its URLs or responses gave.
    ///
    /// Other URLs would give another name, and the download would restart under that.
    private func partialName(of transfer: StoredTransfer) -> String? {
        guard transfer.upload == nil, transfer.options[.out]?.isEmpty ?? true else { return nil }
        // A running one's file is known to its engine; the store may not have it yet.
        let running = self.lanes[transfer.session]?.target(of: transfer.id)
        let stored = transfer.path.flatMap { path in
            path.lastIndex(of: "/")
                .map { slash in
                    FileTarget(directory: String(path[..<slash]), name: String(path[path.index(after: slash)...]))
                }
        }
        for target in [running, stored].compactMap({ $0 }) {
            guard target.path == FileTarget(directory: transfer.directory, name: target.name).path,
                let survey = try? self.parts.store.survey(target)
            else { continue }
            switch survey.partial {
            case .ours: return target.name
            case .busy where target == running: return target.name
            case .busy, .none, .committed, .foreign: continue
            }
        }
        return nil
    }

    /// Restarts a transfer that an engine has with what is stored now; its partial file stays.
    private func startAnew(_ lane: Lane, _ id: GID) async {
        let entry = lane.queue.entries[id]
        if let entry, entry.phase == .staged || entry.phase == .running {
            if lane.queue.takeBack(id, comesBack: true) != nil { lane.giveBack(id) }
            await self.waitUntilLeft([id], lane.session)
        }
        // One that ran has its place again, and may have been asked for anew meanwhile: that must not be taken back.
        if entry?.hasStarted != true { self.reorder(lane) }
        self.publish()
    }

    // MARK: For all

    /// Changes the global options; they survive a restart.
    package func changeGlobalOptions(_ options: TransferOptions) async throws(ControlError) {
        await self.beginChange()
        defer { self.endChange() }
        var merged = self.globalOptions.merging(options)
        for name in [OptionName.gid, .pause, .position, .out, .checksum] { merged[name] = nil }
        let settings = try LaneSettings(shared: self.configuration.shared, options: merged)
        _ = try self.directory(merged)
        _ = try RequestPlan.priority(merged)
        _ = try OptionReader(options: merged).count(.maxDownloadResult, 0...1_000_000_000)
        try self.checkOptions(
            StoredTransfer(
                id: .random(),
                urls: ["http://localhost/"],
                options: settings.defaults,
                directory: "/",
                added: 0
            )
        )
        let stored = merged
        try await self.write { (writer) throws(QueueStoreError) in
            try writer.setSetting(SettingName.options.rawValue, stored.json.text)
        }
        self.snapshot.withLock { $0.options = stored }
        if let lane = self.lanes[nil] {
            let isRenewed = lane.settings.defaults != settings.defaults
            lane.change(settings, renewsEngines: false)
            // What has not begun begins with the new defaults.
            if isRenewed { self.reorder(lane) } else { self.refill(lane) }
            for (id, entry) in lane.queue.entries {
                let name = RequestPlan.rateOption(entry.transfer.upload)
                guard options[name] != nil, entry.transfer.options[name] == nil else { continue }
                lane.setRateLimit(try OptionReader(options: stored).limit(name), of: id)
            }
        }
        self.trim()
    }

    /// Sets the most connections to one host, by its name; `nil` takes the limit off.
    package func setHostLimit(_ host: String, _ connections: Int?) async throws(ControlError) {
        let name = host.lowercased()
        guard !name.isEmpty, name.utf8.count <= 255, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != 0x2F })
        else {
            throw ControlError(.badParameter, "'\(host.prefix(80))' is no host name", remedy: "give a name as in a URL")
        }
        if let connections, !(1...10_000).contains(connections) {
            throw ControlError(.badParameter, "'connections' is out of range", remedy: "give 1 to 10000, or null")
        }
        await self.beginChange()
        defer { self.endChange() }
        var limits = self.hostLimits
        limits[name] = connections
        guard limits.count <= 10_000 else {
            throw ControlError(.tooMuch, "there are limits for 10000 hosts", remedy: "take some off")
        }
        let json = JSON.object(
            limits.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer(Int64($0.value))) }
        )
        try await self.write { (writer) throws(QueueStoreError) in
            try writer.setSetting(SettingName.hostLimits.rawValue, json.text)
        }
        let all = limits
        self.snapshot.withLock { $0.hostLimits = all }
        for lane in self.lanes.values { lane.setHostLimits(all) }
    }

    /// Sets when transfers run.
    package func setSchedule(_ schedule: Schedule?) async throws(ControlError) {
        if let schedule {
            guard (0...1440).contains(schedule.start), (0...1440).contains(schedule.end),
                schedule.days.allSatisfy({ (0...6).contains($0) })
            else {
                throw ControlError(
                    .badParameter,
                    "the schedule's times are none of a day",
                    remedy: "give 00:00 to 24:00"
                )
            }
        }
        try await self.write { (writer) throws(QueueStoreError) in
            try writer.setSetting(SettingName.schedule.rawValue, schedule?.stored.text)
        }
        self.snapshot.withLock { $0.schedule = schedule }
        self.lookAtSchedule()
    }
}

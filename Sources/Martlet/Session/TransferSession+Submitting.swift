// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Synchronization
internal import TransferEngine

/// The engine's requests and options for a task.
extension TransferSession {
    /// Submits a task to the runner.
    func submit(_ task: TransferTask) throws(TransferError) -> TransferID {
        if self.configuration.cache == nil, task is DataTask, self.cachePolicy(of: task) == .returnCacheOnly {
            throw TransferError(
                .notCached,
                "\(task.request.url.redacted): the response may come only from the cache, and the session has none",
                remedy: "set the cache of the session's configuration"
            )
        }
        self.registry.keep(task)
        return try self.runner(of: task).add(task)
    }

    private func cachePolicy(of task: TransferTask) -> CachePolicy {
        task.request.cachePolicy ?? self.configuration.cachePolicy
    }

    func options(of task: TransferTask) -> DownloadOptions {
        var options = self.baseOptions
        (options.priority, options.rateLimit) = task.facts.withLock { ($0.priority, $0.rateLimit) }
        if let timeout = task.request.requestTimeout { options.stallTimeout = timeout }
        if let timeout = task.request.resourceTimeout { options.totalTimeout = timeout }
        options.mayBeRepeated = task.request.mayBeRepeated
        options.acceptsAnyStatus = task.request.acceptsAnyStatus
        return options
    }

    func downloadRequest(_ task: TransferTask) -> DownloadRequest {
        let asked = task.request
        var request = DownloadRequest([asked.url], options: self.options(of: task), userInfo: TaskBox(task))
        request.fields = self.fields(of: task)
        request.method = asked.method
        request.body = asked.body
        request.conditions = asked.conditions
        request.policy = self.policy(of: task)
        switch task {
        case let download as DownloadTask:
            let place = download.place
            request.sources += asked.mirrors
            request.expected = asked.expectedDigests
            request.directory = place.directory
            request.name = place.name
            request.nameIsExact = place.name != nil && place.rule.isExact
            request.options.ifExists = place.rule.engineRule
        case let data as DataTask:
            request.options.destination = .memory(DataSink(data))
            request.options.connections = .fixed(1)
            if self.configuration.cache != nil { request.cachePolicy = self.cachePolicy(of: data) }
        default: break
        }
        return request
    }

    func fields(of task: TransferTask) -> [(String, String)] {
        let request = task.request
        if request.headers.isEmpty, request.referer == nil, task.idempotencyKey == nil { return self.baseFields }
        var own = request.headers
        if let key = task.idempotencyKey { own.append("Idempotency-Key", key) }
        if let referer = request.referer, !own.contains("Referer") { own.append("Referer", referer.withoutUserInfo) }
        return own.map { ($0.name, $0.value) } + self.baseFields.filter { !own.contains($0.0) }
    }

    /// Continues a data task's transfer as a download task, by a delegate's decision.
    func turn(
        _ data: DataTask,
        into destination: Destination,
        _ id: TransferID,
        _ box: TaskBox
    ) throws(TransferError) -> DownloadTask {
        let place = try self.place(destination)
        let download = DownloadTask(
            id: self.registry.numberForTurned(),
            request: data.request,
            session: self,
            isPrivate: false,
            destination: destination,
            place: place
        )
        download.control.withLock { $0 = .submitted(id) }
        let known = data.facts.withLock { $0 }
        download.facts.withLock { facts in
            facts.response = known.response
            facts.bytesExpected = known.bytesExpected
            facts.userInfo = known.userInfo
            facts.description = known.description
            facts.priority = known.priority
            facts.rateLimit = known.rateLimit
        }
        download.takeDelegates(of: data)
        self.registry.keep(download)
        box.task = download
        data.become(download)
        return download
    }
}

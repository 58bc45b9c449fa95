// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Synchronization
internal import TransferEngine

/// Creation of tasks.
extension TransferSession {
    /// Creates a data task; ``TransferTask/resume()`` starts it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - maximumBytes: The maximum size of the body in memory, in bytes; a larger one fails the task with
    ///     `bodyTooLarge`.
    ///   - collectsBody: Whether the body is collected; otherwise only delegates and ``TransferTask/events`` receive
    ///     its bytes, without a limit.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` with `badURL`, `badRequest`, or `invalidated`.
    public func dataTask(
        for request: some RequestConvertible,
        maximumBytes: Int = DataTask.defaultMaximum,
        collectsBody: Bool = true
    ) throws(TransferError) -> DataTask {
        try self.makeData(request.transferRequest(), maximumBytes, collectsBody, isPrivate: false)
    }

    /// Creates a download task; ``TransferTask/resume()`` starts it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: The destination of the file.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` with `badURL`, `badRequest`, `badDestination`, `file` or `invalidated`.
    public func downloadTask(
        for request: some RequestConvertible,
        to destination: Destination = .temporary
    ) throws(TransferError) -> DownloadTask {
        try self.makeDownload(request.transferRequest(), destination, isPrivate: false)
    }

    /// Creates a download task that resumes the download of another task, at the same destination.
    ///
    /// - Parameter data: The resume data of the other task.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` with `badURL`, `file` or `invalidated`.
    public func downloadTask(resuming data: ResumeData) throws(TransferError) -> DownloadTask {
        let place = data.place
        if place.isTemporary { try self.preparePlace(place.directory) }
        let destination: Destination =
            place.isTemporary
            ? .temporary
            : .file(FileTarget(directory: place.directory, name: place.name ?? "").path, ifExists: place.rule)
        let request = try data.request()
        return try self.register { id in
            DownloadTask(
                id: id,
                request: request,
                session: self,
                isPrivate: false,
                destination: destination,
                place: place
            )
        }
    }

    func makeData(
        _ request: TransferRequest,
        _ maximumBytes: Int,
        _ collectsBody: Bool,
        isPrivate: Bool,
        relay: (any DataRelay)? = nil
    ) throws(TransferError) -> DataTask {
        if self.isBackground { throw .noDataInBackground }
        try Self.check(request)
        return try self.register { id in
            DataTask(
                id: id,
                request: request,
                session: self,
                isPrivate: isPrivate,
                maximumBytes: max(0, maximumBytes),
                collectsBody: collectsBody,
                relay: relay
            )
        }
    }

    func makeDownload(
        _ request: TransferRequest,
        _ destination: Destination,
        isPrivate: Bool
    ) throws(TransferError) -> DownloadTask {
        try Self.check(request)
        let place = try self.place(destination)
        return try self.register { id in
            DownloadTask(
                id: id,
                request: request,
                session: self,
                isPrivate: isPrivate,
                destination: destination,
                place: place
            )
        }
    }

    func register<Made: TransferTask>(_ make: (Int) -> Made) throws(TransferError) -> Made {
        guard let id = self.registry.numberForNew() else {
            throw TransferError(
                .invalidated,
                "the session was invalidated: it accepts no more tasks",
                remedy: "create another session"
            )
        }
        let task = make(id)
        self.registry.know(task)
        return task
    }

    static func check(_ request: TransferRequest) throws(TransferError) {
        guard !request.method.isEmpty, request.method.utf8.allSatisfy(Byte.isTokenCharacter) else {
            throw TransferError(.badRequest, "'\(request.method)' is not a method; write one such as GET or POST")
        }
        try self.check(request.headers)
        if !request.conditions.isEmpty { try self.check(HeaderFields(request.conditions)) }
    }

    /// Checks header fields, which would otherwise end the request's head early, or be refused by the server.
    ///
    /// - Throws: ``TransferError`` with `badRequest`, which names the field.
    /// - Source: RFC 9110 §5.1, §5.5.
    static func check(_ headers: HeaderFields) throws(TransferError) {
        var problem: String?
        headers.forEachLine { name, value in
            guard problem == nil else { return }
            // Quoted and escaped: the name may contain control characters.
            let shown = { String(decoding: name, as: UTF8.self).debugDescription }
            if name.isEmpty || !name.allSatisfy(Byte.isTokenCharacter) {
                problem = "the header field \(shown()) has an invalid name; use letters, digits and hyphens"
            } else if value.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) {
                problem = "the value of the header field \(shown()) contains a line break or a NUL"
            }
        }
        if let problem { throw TransferError(.badRequest, problem) }
    }

    func place(_ destination: Destination) throws(TransferError) -> DownloadPlace {
        switch destination.kind {
        case .temporary:
            try self.preparePlace(self.configuration.directory)
            return DownloadPlace(
                directory: self.configuration.directory,
                name: TemporaryPlace.name(),
                rule: .fail,
                isTemporary: true
            )
        case .file(let path):
            guard let last = path.split(separator: "/", omittingEmptySubsequences: false).last,
                !last.isEmpty, last != ".", last != ".."
            else {
                throw TransferError(.badDestination, "'\(path)' is not a file path; end it with a file name")
            }
            let directory = path.dropLast(last.utf8.count)
            return DownloadPlace(
                directory: directory.isEmpty ? "." : directory == "/" ? "/" : String(directory.dropLast()),
                name: String(last),
                rule: destination.existing,
                isTemporary: false
            )
        case .directory(let path):
            guard !path.isEmpty else { throw TransferError(.badDestination, "the destination's directory is empty") }
            return DownloadPlace(directory: path, name: nil, rule: destination.existing, isTemporary: false)
        }
    }

    private func preparePlace(_ directory: String) throws(TransferError) {
        let isDefault = directory == self.configuration.directory
        if isDefault, self.isPlacePrepared.load(ordering: .acquiring) { return }
        try TemporaryPlace.prepare(directory)
        if isDefault { self.isPlacePrepared.store(true, ordering: .releasing) }
    }
}

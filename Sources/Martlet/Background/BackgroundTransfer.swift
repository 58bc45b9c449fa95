// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control
internal import Synchronization
internal import TransferEngine

/// Converts between tasks and the daemon's transfer records.
enum BackgroundTransfer {
    /// The content of the option `user-info`: the program's text and the session's own data.
    struct Extra {
        var number: Int?
        var isTemporary = false
        var info = ""
        /// The time for which the transfer is held, in seconds since 1970.
        var begin: Double?

        var text: String {
            let json: JSON = [
                "task": .optional(self.number.map { Int64($0) }), "temporary": .bool(self.isTemporary),
                "info": .string(self.info),
                "begin": .optional(self.begin.map { Int64(max(-1e15, min($0 * 1000, 1e15)).rounded(.up)) }),
            ]
            return json.text
        }

        init(_ task: TransferTask, begin: Double?) {
            self.number = task.id
            self.isTemporary = (task as? DownloadTask)?.place.isTemporary ?? false
            self.info = task.persistentInfo
            self.begin = begin
        }

        /// Reads the format of ``text``; any other text is the program's.
        init(_ text: String?) {
            guard let text else { return }
            guard let json = try? JSON(parsing: text), json["temporary"] != nil else {
                self.info = text
                return
            }
            self.number = json["task"]?.integer.map { Int(clamping: $0) }
            self.isTemporary = json["temporary"]?.bool ?? false
            self.info = json["info"]?.string ?? ""
            self.begin = json["begin"]?.integer.map { Double($0) / 1000 }
        }
    }

    /// Creates the daemon's transfer for a task.
    ///
    /// - Throws: ``TransferError`` with `badRequest` if the daemon does not support the request.
    static func new(
        _ task: TransferTask,
        id: GID,
        session: String,
        isHeld: Bool
    ) throws(TransferError) -> NewTransfer {
        var new =
            switch task {
            case let task as DownloadTask: try self.download(task, id, session)
            case let task as UploadTask: try self.upload(task, id, session)
            default: throw TransferError.noDataInBackground
            }
        new.isPaused = isHeld
        new.options[.userInfo] = Extra(task, begin: isHeld ? task.earliestBeginTime : nil).text
        return new
    }

    private static func download(
        _ task: DownloadTask,
        _ id: GID,
        _ session: String
    ) throws(TransferError) -> NewTransfer {
        let request = task.request
        guard request.expectedDigests.count < 2 else {
            throw TransferError(.badRequest, "background sessions accept one digest per download; pass the strongest")
        }
        var options = self.common(task)
        options[.dir] = AbsolutePath.of(task.place.directory)
        options[.out] = task.place.name
        options[.ifExists] = task.place.rule.engineRule.rawValue
        options[.body] = request.body.map { Base64.encode($0) }
        options[all: .conditions] = request.conditions.map { "\($0.0): \($0.1)" }
        options[.checksum] = request.expectedDigests.first.map {
            "\(Self.name($0.algorithm))=\(Hexadecimal.encode($0.bytes))"
        }
        return NewTransfer(
            id: id,
            urls: ([request.url] + request.mirrors).map(\.text),
            options: options,
            session: session
        )
    }

    private static func upload(_ task: UploadTask, _ id: GID, _ session: String) throws(TransferError) -> NewTransfer {
        guard var source = self.source(task.body) else { throw .noBytesInBackground }
        source.type = task.request.headers["Content-Type"] ?? task.body.type
        source.resumption = task.resumption.name
        source.checksum = task.checksum?.rawValue
        source.record = task.keeper.current?.encoded
        var new = NewTransfer(id: id, urls: [task.request.url.text], session: session)
        new.options = self.common(task)
        new.options[.maxUploadLimit] = new.options[.maxDownloadLimit]
        new.options[.maxDownloadLimit] = nil
        new.upload = source
        return new
    }

    /// The source of an upload for the daemon; `nil` if the daemon cannot send the body after the program has ended.
    static func source(_ body: UploadBody) -> UploadSource? {
        guard case .parts(let content) = body.content else { return nil }
        let source = UploadSource(
            content.map { part in
                switch part {
                case .file(let path): .file(AbsolutePath.of(path))
                case .bytes(let bytes): .bytes(bytes)
                }
            }
        )
        return source.files.isEmpty || source.byteCount > UploadSource.mostBytes ? nil : source
    }

    private static func common(_ task: TransferTask) -> TransferOptions {
        let request = task.request
        var options = TransferOptions()
        if request.method != "GET" { options[.method] = request.method }
        options[all: .header] =
            request.headers.map { "\($0.name): \($0.value)" }
            + (task.idempotencyKey.map { ["Idempotency-Key: \($0)"] } ?? [])
        if request.mayBeRepeated { options[.mayBeRepeated] = "true" }
        options[.referer] = request.referer?.withoutUserInfo
        options[.timeout] = request.requestTimeout.map { Self.seconds($0) }
        options[.resourceTimeout] = request.resourceTimeout.map { Self.seconds($0) }
        let facts = task.facts.withLock { ($0.priority, $0.rateLimit, $0.description) }
        if facts.0 != .normal { options[.priority] = "\(Self.number(facts.0))" }
        options[.maxDownloadLimit] = facts.1.map { "\($0)" }
        if !facts.2.isEmpty { options[.description] = facts.2 }
        return options
    }

    /// The request of an existing transfer, without header fields and content, which the daemon does not report.
    static func request(_ record: TransferRecord) throws(TransferError) -> TransferRequest {
        var request = try TransferRequest(record.urls.first ?? "")
        for url in record.urls.dropFirst() { request.mirrors.append(try TransferRequest(url).url) }
        request.method = record.options[.method] ?? "GET"
        request.mayBeRepeated = record.options[.mayBeRepeated] == "true"
        request.referer = record.options[.referer].flatMap { try? HTTPURL($0) }
        request.priority = Self.priority(record.priority)
        let limit = record.options[record.upload == nil ? .maxDownloadLimit : .maxUploadLimit]
        request.rateLimit = limit.flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
        request.requestTimeout = record.options[.timeout].flatMap { Int64($0) }.map { .seconds($0) }
        request.resourceTimeout = record.options[.resourceTimeout].flatMap { Int64($0) }.map { .seconds($0) }
        if let digest = record.options[.checksum].flatMap({ try? ExpectedDigest(parsing: $0) }) {
            request.expectedDigests = [digest]
        }
        return request
    }

    /// The destination of an existing transfer.
    static func place(_ record: TransferRecord, isTemporary: Bool) -> (Destination, DownloadPlace) {
        let rule =
            Destination.ExistingFileRule.allCases.first { $0.engineRule.rawValue == record.options[.ifExists] }
            ?? (record.options[.out] == nil ? .number : .fail)
        let place = DownloadPlace(
            directory: record.directory,
            name: record.options[.out],
            rule: rule,
            isTemporary: isTemporary
        )
        if isTemporary { return (.temporary, place) }
        guard let name = place.name else { return (.directory(record.directory, ifExists: rule), place) }
        return (.file(FileTarget(directory: record.directory, name: name).path, ifExists: rule), place)
    }

    /// The body of an existing upload, without the bytes between its files, which the daemon does not report.
    static func body(_ source: UploadSource) -> UploadBody {
        UploadBody(content: .parts(source.files.map { .file($0) }), type: source.type, path: source.path)
    }

    static func number(_ priority: Priority) -> Int { Int(priority.rawValue) - Int(Priority.normal.rawValue) }

    static func priority(_ number: Int) -> Priority {
        Priority.allCases.last { Self.number($0) <= number } ?? .low
    }

    /// The session's state for a record's state.
    static func state(_ state: TransferRecord.State) -> TransferState {
        switch state {
        case .waiting, .retrying, .held: .waiting
        case .active: .running
        case .paused: .paused
        case .finished: .finished
        case .failed: .failed
        case .removed: .cancelled
        }
    }

    /// The failure in a record.
    static func failure(_ json: JSON?) -> TransferFailure {
        let failure = json.flatMap { TransferRecord.Failure(json: $0) }
        return TransferFailure(
            failure?.kind ?? .unknown,
            failure?.message ?? "the transfer failed for a reason that the daemon did not report",
            remedy: failure?.remedy ?? "",
            status: failure?.status
        )
    }

    /// The algorithm's name in aria2.
    private static func name(_ algorithm: DigestAlgorithm) -> String {
        algorithm == .md5 ? "md5" : "sha-\(algorithm.rawValue.dropFirst(3))"
    }

    /// Whole seconds, rounded up, as in aria2's options.
    private static func seconds(_ duration: Duration) -> String {
        let (seconds, rest) = duration.components
        return "\(rest > 0 ? seconds + 1 : seconds)"
    }
}

extension TransferError {
    /// The session's error for an error of the daemon.
    init(_ error: ControlError) {
        let code: Code =
            switch error.code {
            case .sessionInUse: .sessionInUse
            case .diskFull: .noSpace
            case .forbidden: .badDestination
            case .badParameter, .duplicate, .wrongState, .notFound, .ambiguous: .badRequest
            default: .daemonUnavailable
            }
        self.init(
            code,
            error.message,
            remedy: error.remedy,
            isRetryable: code == .daemonUnavailable || code == .sessionInUse
        )
    }
}

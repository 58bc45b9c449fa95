import TransferCore
import TransferEngine

/// What the run looks like now: the running files, the counts and the first failures.
///
/// Pure value. It holds the running files only, so a million that ended take no memory.
struct RunModel: Sendable {
    /// A file that is being fetched.
    struct Row: Sendable, Equatable {
        /// The transfer.
        var id: TransferID
        /// The file's name, cleaned.
        var name: String
        /// Where the file will be; empty where that is not known.
        var path: String = ""
        /// The bytes that are there.
        var bytes: Int64 = 0
        /// The bytes that were there when this run began with it, or `nil` before its first response.
        var resumedFrom: Int64?
        /// The whole length, or `nil`.
        var total: Int64?
        /// Bytes a second.
        var rate: Double = 0
        /// The seconds left, or `nil`.
        var secondsLeft: Double?
        /// Why the next attempt is waited for, or `nil`.
        var waiting: String?

        /// The bytes that arrived in this run.
        var received: Int64 { self.resumedFrom.map { max(0, self.bytes - max(0, $0)) } ?? 0 }
    }

    /// A failure kept for the end of the run.
    struct Failure: Sendable, Equatable {
        /// The file's name or URL.
        var name: String
        /// The reason and the remedy.
        var reason: String
    }

    /// The most failures that the summary tells.
    static let failureLimit = 20

    /// The running files in the order of their start.
    private(set) var rows: [Row] = []
    /// Files that were fetched.
    private(set) var finished = 0
    /// Files that were there already.
    private(set) var skipped = 0
    /// Files that are not there.
    private(set) var failed = 0
    /// Transfers that were cancelled.
    private(set) var cancelled = 0
    /// The first failures.
    private(set) var failures: [Failure] = []
    /// The exit status of the last failure, or `nil`.
    private(set) var lastFailure: TransferFailure.Code?
    /// Bytes of bodies of the files that ended.
    private var endedBytes: Int64 = 0

    /// Bytes of bodies received in this run, as far as events told.
    var receivedBytes: Int64 {
        self.rows.reduce(self.endedBytes) { $0.addingReportingOverflow($1.received).partialValue }
    }

    /// Whether names keep their characters beyond ASCII.
    var asciiOnly = false

    /// Takes an event of the engine.
    ///
    /// - Returns: The file it is about, as it is now or was when it ended.
    @discardableResult
    mutating func apply(_ event: TransferEvent) -> Row? {
        guard let id = event.id else { return nil }
        switch event.kind {
        case .started(let path):
            if let row = self.row(of: id) { return row }
            let row = Row(id: id, name: self.name(path, event), path: path)
            self.rows.append(row)
            return row
        case .response(let response):
            let name = self.name(response.path, event)
            return self.update(id) { row in
                if !response.path.isEmpty {
                    row.name = name
                    row.path = response.path
                }
                row.total = response.expected
                row.bytes = max(row.bytes, response.resumedFrom)
                row.resumedFrom = row.resumedFrom ?? response.resumedFrom
                row.waiting = nil
            }
        case .progress(let progress):
            return self.update(id) { row in
                // An upload's response comes at its end.
                if row.resumedFrom == nil, let sent = progress.sent {
                    row.resumedFrom = max(0, progress.bytes - sent)
                }
                row.bytes = progress.bytes
                row.total = progress.total
                row.rate = progress.rate
                row.secondsLeft = progress.secondsLeft
                row.waiting = nil
            }
        case .retrying(let failure, _, let delay):
            let wait = Quantity.time(Quantity.seconds(delay))
            let reason = DisplayText.clean(failure.message, asciiOnly: self.asciiOnly)
            return self.update(id) { row in
                row.rate = 0
                row.waiting = "retry in \(wait): \(reason)"
            }
        case .paused: return self.update(id) { $0.waiting = "paused" }
        case .finished(let completion):
            if completion.skipped { self.skipped += 1 } else { self.finished += 1 }
            let moved = completion.sent ?? completion.received
            self.endedBytes = self.endedBytes.addingReportingOverflow(moved).partialValue
            return self.remove(id)
        case .failed(let failure):
            let row = self.remove(id)
            self.endedBytes = self.endedBytes.addingReportingOverflow(row?.received ?? 0).partialValue
            self.fail(row?.name ?? self.name("", event), failure)
            return row
        case .cancelled:
            self.cancelled += 1
            return self.remove(id)
        case .note: return self.row(of: id)
        case .held, .released, .drained, .missed: return nil
        }
    }

    /// Counts a failure that never became a transfer, such as a bad line of the input file.
    mutating func fail(_ name: String, _ failure: TransferFailure) {
        self.failed += 1
        self.lastFailure = failure.code
        guard self.failures.count < Self.failureLimit else { return }
        self.failures.append(
            Failure(name: name, reason: DisplayText.clean(failure.textForCommand, asciiOnly: self.asciiOnly))
        )
    }

    /// The name to show for a path, or for the URL where there is no path yet.
    private func name(_ path: String, _ event: TransferEvent) -> String {
        DisplayText.clean(path.isEmpty ? event.url : path.lastComponent, asciiOnly: self.asciiOnly)
    }

    private func row(of id: TransferID) -> Row? { self.index(of: id).map { self.rows[$0] } }

    private func index(of id: TransferID) -> Int? { self.rows.firstIndex { $0.id == id } }

    private mutating func update(_ id: TransferID, _ change: (inout Row) -> Void) -> Row? {
        guard let index = self.index(of: id) else { return nil }
        change(&self.rows[index])
        return self.rows[index]
    }

    private mutating func remove(_ id: TransferID) -> Row? {
        self.index(of: id).map { self.rows.remove(at: $0) }
    }
}

extension String {
    /// What stands after the last slash.
    var lastComponent: String {
        let utf8 = self.utf8
        return utf8.lastIndex(of: 0x2F).map { String(self[utf8.index(after: $0)...]) } ?? self
    }
}

// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore
import TransferEngine

/// The current state of the run: the running files, the counts and the first failures.
///
/// Pure value. It stores running files only: a million finished ones use no memory.
struct RunModel: Sendable {
    /// A file that is being transferred.
    struct Row: Sendable, Equatable {
        var id: TransferID
        /// The file's name, cleaned for display.
        var name: String
        /// The destination path; empty if it is not known.
        var path: String = ""
        /// The number of bytes present.
        var bytes: Int64 = 0
        /// The number of bytes that were present when this run started the file, or `nil` before its first response.
        var resumedFrom: Int64?
        /// The complete length in bytes, or `nil` if unknown.
        var total: Int64?
        /// The rate in bytes per second.
        var rate: Double = 0
        /// The estimated time left in seconds, or `nil`.
        var secondsLeft: Double?
        /// The number of connections in use.
        var connections = 0
        /// The identifier that the caller has given it, or `nil`.
        var gid: GID?
        /// The reason for waiting, or `nil`.
        var waiting: String?

        var received: Int64 { self.resumedFrom.map { max(0, self.bytes - max(0, $0)) } ?? 0 }
    }

    /// A failure to list at the end of the run.
    struct Failure: Sendable, Equatable {
        /// The file's name or URL.
        var name: String
        /// The reason and how to fix it.
        var reason: String
    }

    /// The maximum number of failures in the summary.
    static let failureLimit = 20

    /// The running files in the order of their start.
    private(set) var rows: [Row] = []
    /// The number of files transferred.
    private(set) var finished = 0
    /// The number of files that were already present.
    private(set) var skipped = 0
    /// The number of these that were compared with the server's and are the same.
    private(set) var unchanged = 0
    /// The number of files whose digest was compared.
    private(set) var verified = 0
    /// The number of files that failed.
    private(set) var failed = 0
    /// The number of cancelled transfers.
    private(set) var cancelled = 0
    /// The first failures.
    private(set) var failures: [Failure] = []
    private(set) var failureStatus = ExitOrder()
    /// The content bytes of files that ended.
    private var endedBytes: Int64 = 0

    /// The content bytes received in this run, as far as events reported them.
    var receivedBytes: Int64 {
        self.rows.reduce(self.endedBytes) { $0.addingReportingOverflow($1.received).partialValue }
    }

    /// Whether names are reduced to ASCII.
    var asciiOnly = false

    /// Applies an event of the engine.
    ///
    /// - Returns: The file of the event, in its current or final state.
    @discardableResult
    mutating func apply(_ event: TransferEvent) -> Row? {
        guard let id = event.id else { return nil }
        switch event.kind {
        case .started(let path):
            if let row = self.row(of: id) { return row }
            let row = Row(id: id, name: self.name(path, event), path: path, gid: event.userInfo as? GID)
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
                // The response to an upload arrives at its end.
                if row.resumedFrom == nil, let sent = progress.sent {
                    row.resumedFrom = max(0, progress.bytes - sent)
                }
                row.bytes = progress.bytes
                row.total = progress.total
                row.rate = progress.rate
                row.secondsLeft = progress.secondsLeft
                row.connections = progress.connections
                row.waiting = nil
            }
        case .retrying(let failure, _, let delay):
            let wait = Quantity.time(Quantity.seconds(delay))
            let reason = DisplayText.clean(failure.message, asciiOnly: self.asciiOnly)
            return self.update(id) { row in
                row.rate = 0
                row.waiting = failure.awaitedFile == nil ? "retry in \(wait): \(reason)" : "waiting: \(reason)"
            }
        case .paused: return self.update(id) { $0.waiting = "paused" }
        case .finished(let completion):
            if completion.skipped { self.skipped += 1 } else { self.finished += 1 }
            if completion.unchanged { self.unchanged += 1 }
            if completion.verified { self.verified += 1 }
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
        case .note, .warning: return self.row(of: id)
        case .held, .released, .drained, .missed: return nil
        }
    }

    /// Counts a failure that did not become a transfer, such as a bad line of the input file.
    mutating func fail(_ name: String, _ failure: TransferFailure) {
        self.failed += 1
        self.failureStatus.add(Int32(Aria2ExitStatus(failure.code).number))
        guard self.failures.count < Self.failureLimit else { return }
        self.failures.append(
            Failure(name: name, reason: DisplayText.clean(failure.textForCommand, asciiOnly: self.asciiOnly))
        )
    }

    /// The name to display for a path, or for the URL if the path is not known yet.
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
    /// The part after the last slash.
    var lastComponent: String {
        let utf8 = self.utf8
        return utf8.lastIndex(of: 0x2F).map { String(self[utf8.index(after: $0)...]) } ?? self
    }
}

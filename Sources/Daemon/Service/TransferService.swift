// SPDX-License-Identifier: Apache-2.0
package import TransferCore
package import Control

/// The daemon's operations on transfers and sessions, which the RPC methods translate to and from JSON.
///
/// Every method may be called from any thread. A method that changes state returns when the change is durable.
package protocol TransferService: AnyObject, Sendable {
    // MARK: Adding

    /// Adds transfers in the given order, all or none.
    ///
    /// - Parameters:
    ///   - entries: The transfers to add.
    ///   - position: The index of the first one among the unfinished transfers, or `nil` for the end.
    /// - Returns: Their identifiers, in the same order.
    /// - Throws: `badParameter` (names the entry), `duplicate`, `diskFull`, `stopping`.
    func add(_ entries: [NewTransfer], at position: Int?) async throws(ControlError) -> [GID]

    /// Adds transfers in the given order, in one transaction; one that cannot be added does not affect the others.
    ///
    /// - Returns: Their identifiers or errors, in the same order; the errors are those of ``add(_:at:)``.
    func addEach(_ entries: [PlacedTransfer]) async -> [Result<GID, ControlError>]

    // MARK: Reading

    /// Returns the only transfer whose identifier begins with `prefix` (1 to 16 hexadecimal digits).
    ///
    /// - Throws: `notFound`, `ambiguous`, `badParameter`.
    func resolve(_ prefix: String) async throws(ControlError) -> GID

    /// Returns one transfer.
    ///
    /// - Parameters:
    ///   - id: The transfer.
    ///   - withPosition: Whether the record gets its ``TransferRecord/position``, which takes longer than the rest.
    /// - Returns: The transfer.
    /// - Throws: `notFound`.
    func record(_ id: GID, withPosition: Bool) async throws(ControlError) -> TransferRecord

    /// Returns the attempts, the last response and the log of a transfer, as far as they are kept.
    ///
    /// - Throws: `notFound`.
    func details(_ id: GID) async throws(ControlError) -> TransferDetails

    /// Returns a page of transfers.
    func list(_ query: ListQuery) async throws(ControlError) -> [TransferRecord]

    /// Copies the current transfers into a list: the unfinished ones in queue order, then those that have ended.
    ///
    /// - Parameter query: The states and the session; a running transfer counts as waiting.
    /// - Returns: The list's name, and the number of its transfers.
    /// - Throws: `diskFull`, `storage`.
    func openList(_ query: ListQuery) async throws(ControlError) -> (list: String, count: Int)

    /// Returns the next transfers of a list; at its end returns none and drops the list.
    ///
    /// A list that has not been read for a minute is dropped too.
    ///
    /// - Throws: `notFound`, `storage`.
    func readList(_ name: String, limit: Int) async throws(ControlError) -> [TransferRecord]

    /// The current counts of the shared queue and all sessions together; performs no I/O.
    var counts: QueueCounts { get }

    /// Returns the counts of the transfers that match a query's session and words; its other properties are ignored.
    ///
    /// `endedInAll` and `rate` are those of ``counts``.
    func counts(of query: ListQuery) async throws(ControlError) -> QueueCounts

    // MARK: Changing

    /// Performs an action on each selected transfer.
    ///
    /// A transfer whose state does not allow the action is skipped for `.all` and is an error for `.ids`.
    ///
    /// - Returns: The number of changed transfers.
    /// - Throws: `notFound` or `wrongState` for the first named transfer that fails; then nothing was changed.
    @discardableResult
    func perform(_ action: TransferAction, on selection: TransferSelection) async throws(ControlError) -> Int

    /// Moves a transfer in its queue.
    ///
    /// - Returns: Its new index, from 0.
    /// - Throws: `notFound`, `wrongState`.
    func move(_ id: GID, by offset: Int, from origin: MoveOrigin) async throws(ControlError) -> Int

    /// Changes a transfer's options.
    ///
    /// A running transfer applies limits at once; for other options it restarts and keeps its bytes.
    func changeOptions(_ id: GID, _ options: TransferOptions) async throws(ControlError)

    /// The queue's own options, and the defaults for transfers.
    var globalOptions: TransferOptions { get }

    /// Changes the global options; they survive a restart.
    func changeGlobalOptions(_ options: TransferOptions) async throws(ControlError)

    /// Replaces a transfer's URLs; the bytes received so far are kept.
    func replaceURLs(_ id: GID, with urls: [String], _ options: TransferOptions) async throws(ControlError)

    /// Sets the maximum number of connections to a host, given by name; `nil` removes the limit.
    func setHostLimit(_ host: String, _ connections: Int?) async throws(ControlError)
    /// The connection limits by host name.
    var hostLimits: [String: Int] { get }

    /// Sets the schedule; `nil` removes it.
    func setSchedule(_ schedule: Schedule?) async throws(ControlError)
    /// The times at which transfers run; `nil` means always.
    var schedule: Schedule? { get }

    // MARK: Background sessions

    /// Opens a session for one program, or reopens it for the same instance after a lost connection.
    ///
    /// - Parameters:
    ///   - identifier: The session's name.
    ///   - instance: A text that the program chose at random when it opened the session.
    ///   - program: A name of the program for messages, such as `imagequeue (pid 17)`.
    ///   - configuration: The JSON of its `SessionConfiguration`; replaces the stored one.
    /// - Returns: The session's transfers and event numbers.
    /// - Throws: `sessionInUse`, `badParameter`.
    func openSession(
        _ identifier: String,
        instance: String,
        program: String,
        configuration: JSON
    ) async throws(ControlError) -> SessionOpening

    /// Returns the session's events after number `after`: stored events first, then new events and progress.
    ///
    /// The session counts as connected while the sequence is being read.
    ///
    /// - Throws: `sessionInUse` if `instance` is not the one that opened it.
    func sessionEvents(
        _ identifier: String,
        instance: String,
        after: Int64
    ) async throws(ControlError) -> AsyncStream<SessionEvent>

    /// Deletes the session's events up to a number, inclusive.
    func acknowledge(_ identifier: String, upTo number: Int64) async throws(ControlError)

    /// Records that a program has handled the session's events up to a number, so that no program is woken for them.
    ///
    /// Also deletes the events up to `acknowledged`, unless it is 0.
    func finishEvents(
        _ identifier: String,
        upTo number: Int64,
        acknowledging acknowledged: Int64
    ) async throws(ControlError)

    /// Closes a session: removes its unfinished transfers unless `keepsTransfers`; deletes an empty session.
    func closeSession(_ identifier: String, instance: String, keepsTransfers: Bool) async throws(ControlError)

    /// Returns all sessions.
    func sessions() async throws(ControlError) -> [SessionSummary]

    // MARK: The daemon

    /// Returns the events of the shared queue and of all sessions from now on.
    ///
    /// - Parameters:
    ///   - interest: The kinds of events.
    ///   - capacity: The maximum of unread events; beyond it progress is dropped, then the sequence ends.
    /// - Returns: The events, for one consumer; each element contains the ones that are unread, in their order.
    func events(_ interest: ServiceEvent.Interest, capacity: Int) -> AsyncStream<[ServiceEvent]>

    /// Bytes received for the transfers that finished since the start; `nil` if not counted.
    var receivedBytes: Int64? { get }

    /// The total rate during the last ten minutes; performs no I/O.
    var rateHistory: RateHistory { get }

    /// Writes unsaved state and the file of the option `save-session`; returns when all earlier changes are durable.
    func save() async throws(ControlError)

    /// Starts stopping the daemon and returns at once; `isForced` waits a shorter time for the engines.
    func stop(isForced: Bool)
}

extension TransferService {
    /// Returns one transfer with its position.
    ///
    /// - Throws: `notFound`.
    package func record(_ id: GID) async throws(ControlError) -> TransferRecord {
        try await self.record(id, withPosition: true)
    }

    /// Received bytes are not counted by default.
    package var receivedBytes: Int64? { nil }

    /// Rates are not sampled by default.
    package var rateHistory: RateHistory { RateHistory() }
}

/// A transfer to be added, and its place.
package struct PlacedTransfer: Sendable, Hashable {
    package var transfer: NewTransfer
    /// Its index among the unfinished transfers, or `nil` for the end.
    package var position: Int?

    /// Creates a transfer with its place.
    package init(_ transfer: NewTransfer, at position: Int? = nil) {
        self.transfer = transfer
        self.position = position
    }
}

package enum TransferAction: Sendable, Hashable {
    /// Stops it until it is resumed; it keeps its bytes.
    case pause
    /// Returns a paused transfer to its old place in the queue.
    case resume
    /// Queues a failed or removed transfer again, at the end; the bytes received so far are kept.
    case retry
    /// Ends an unfinished transfer as removed; `deletesPartial` deletes the partial file.
    case remove(deletesPartial: Bool)
    /// Deletes an ended transfer from the history.
    case forget
    /// Changes the priority.
    case setPriority(Int)
}

/// Selects the transfers of an action.
package enum TransferSelection: Sendable, Hashable {
    /// The given transfers.
    case ids([GID])
    /// All transfers of one session, or of the shared queue (`nil`).
    case all(session: String?)
}

/// The origin of an offset (aria2's `how`).
package enum MoveOrigin: String, Sendable, Hashable {
    /// `POS_SET`: the beginning of the queue.
    case start = "POS_SET"
    /// `POS_CUR`: the transfer's current place.
    case current = "POS_CUR"
    /// `POS_END`: the end of the queue.
    case end = "POS_END"
}

/// The daily period in which transfers run, in local time.
package struct Schedule: Sendable, Hashable {
    /// The start of the period in minutes since midnight; equal to ``end`` means the whole day.
    package var start: Int
    /// The end of the period in minutes since midnight; less than `start` means a period over midnight.
    package var end: Int
    /// The days of the week on which a period begins, 0 for Sunday; empty means every day.
    package var days: Set<Int>

    /// Creates a schedule.
    package init(start: Int, end: Int, days: Set<Int> = []) {
        self.start = start
        self.end = end
        self.days = days
    }
}

/// An event of the daemon.
package enum ServiceEvent: Sendable {
    /// The transfer started to run.
    case started(TransferRecord)
    case paused(TransferRecord)
    case removed(TransferRecord)
    /// The transfer is complete and durable.
    case finished(TransferRecord)
    case failed(TransferRecord)
    /// The transfer was added or queued again.
    case queued(TransferRecord)
    /// All unfinished transfers of a queue were paused, removed, or made to wait; those that ran are also reported one by
    /// one.
    case all(TransferRecord.State, session: String?, count: Int)
    /// The state of a transfer changed otherwise: it is retrying, held, or active again, or it was stopped by the
    /// schedule, a condition or a change of its options, and waits.
    case changed(TransferRecord)
    /// The started transfers of all queues, about five times a second while any transfer runs.
    case progress([TransferRecord])
    /// No transfer waits or runs any more.
    case drained

    /// A set of kinds of events: those that an observer receives.
    package struct Interest: OptionSet, Sendable, Hashable {
        /// The bits, in the order of the kinds' names in ``ServiceEvent/kinds``.
        package let rawValue: UInt16

        /// Creates a set from its bits.
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// All events.
        package static let all = Interest(rawValue: .max)

        static let started = Interest(rawValue: 1)
        static let paused = Interest(rawValue: 1 << 1)
        static let removed = Interest(rawValue: 1 << 2)
        static let finished = Interest(rawValue: 1 << 3)
        static let failed = Interest(rawValue: 1 << 4)
        static let queued = Interest(rawValue: 1 << 5)
        static let actions = Interest(rawValue: 1 << 6)
        static let progress = Interest(rawValue: 1 << 7)
        static let drained = Interest(rawValue: 1 << 8)
        static let changed = Interest(rawValue: 1 << 9)
    }

    /// The interest that an observer must have to receive the event.
    package var interest: Interest {
        switch self {
        case .started: .started
        case .paused: .paused
        case .removed: .removed
        case .finished: .finished
        case .failed: .failed
        case .queued: .queued
        case .all: .actions
        case .progress: .progress
        case .drained: .drained
        case .changed: .changed
        }
    }
}

/// The state of a session that a program receives when it opens it.
package struct SessionOpening: Sendable {
    /// The session's unfinished transfers, and those whose end has not been acknowledged.
    package var transfers: [TransferRecord]
    /// The number of the last acknowledged event.
    package var acknowledged: Int64
    /// The number of the last stored event.
    package var last: Int64

    /// Creates the state of an opened session.
    package init(transfers: [TransferRecord], acknowledged: Int64, last: Int64) {
        self.transfers = transfers
        self.acknowledged = acknowledged
        self.last = last
    }
}

package struct SessionEvent: Sendable, Hashable {
    /// Its number, from 1 on without gaps; 0 for transient events, such as progress.
    package var number: Int64
    /// The event as the program receives it: `kind` (such as `response`, `progress`, `finished`, `failed`, `removed`),
    /// `id` and members that depend on the kind; see Docs/rpc.md.
    package var json: JSON

    /// Creates an event.
    package init(number: Int64, json: JSON) {
        self.number = number
        self.json = json
    }
}

/// A session, as shown to users.
package struct SessionSummary: Sendable, Hashable {
    package var identifier: String
    /// The number of its unfinished transfers.
    package var unfinished: Int
    /// The number of its unacknowledged events.
    package var unacknowledged: Int
    /// The program that has the session open, if any.
    package var program: String?
    /// The state of its wake command, if it has one.
    package var wake: WakeSummary?

    /// Creates a summary.
    package init(
        identifier: String,
        unfinished: Int,
        unacknowledged: Int,
        program: String?,
        wake: WakeSummary? = nil
    ) {
        self.identifier = identifier
        self.unfinished = unfinished
        self.unacknowledged = unacknowledged
        self.program = program
        self.wake = wake
    }
}

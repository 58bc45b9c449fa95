package import Control

/// What the daemon does for whoever asks: the RPC's methods and the sessions are translations of this.
///
/// Every method may be called from any thread. A method that changes something returns when the change is durable.
package protocol TransferService: AnyObject, Sendable {
    // MARK: Adding

    /// Adds transfers, all or none, in their order.
    ///
    /// - Parameters:
    ///   - entries: What to add.
    ///   - position: The place of the first among those that have not ended, or `nil` for the end.
    /// - Returns: Their identifiers, in the same order.
    /// - Throws: `badParameter` (names the entry), `duplicate`, `diskFull`, `stopping`.
    func add(_ entries: [NewTransfer], at position: Int?) async throws(ControlError) -> [GID]

    // MARK: Reading

    /// The one transfer whose identifier begins with `prefix` (1 to 16 hexadecimal digits).
    ///
    /// - Throws: `notFound`, `ambiguous`, `badParameter`.
    func resolve(_ prefix: String) async throws(ControlError) -> GID

    /// One transfer.
    ///
    /// - Throws: `notFound`.
    func record(_ id: GID) async throws(ControlError) -> TransferRecord

    /// A page of transfers.
    func list(_ query: ListQuery) async throws(ControlError) -> [TransferRecord]

    /// Copies transfers as they are now into a list: those that have not ended in the line's order, then those that have.
    ///
    /// - Parameter query: The states and the session; what is running counts as waiting.
    /// - Returns: The list's name, and how many there are.
    /// - Throws: `diskFull`, `storage`.
    func openList(_ query: ListQuery) async throws(ControlError) -> (list: String, count: Int)

    /// The next transfers of a list; none at its end, when it is dropped. One that nobody reads for a minute is dropped too.
    ///
    /// - Throws: `notFound`, `storage`.
    func readList(_ name: String, limit: Int) async throws(ControlError) -> [TransferRecord]

    /// The counts of now, without any I/O; of the shared queue and all sessions together.
    var counts: QueueCounts { get }

    // MARK: Changing

    /// Does the same to each; those that stand otherwise are left alone for `.all`, and are errors when named.
    ///
    /// - Returns: Those that were changed.
    /// - Throws: `notFound`, `wrongState` for the first that is named and cannot; then nothing was changed.
    @discardableResult
    func perform(_ action: TransferAction, on selection: TransferSelection) async throws(ControlError) -> Int

    /// Moves a transfer in the line.
    ///
    /// - Returns: Its new place, from 0.
    /// - Throws: `notFound`, `wrongState`.
    func move(_ id: GID, by offset: Int, from origin: MoveOrigin) async throws(ControlError) -> Int

    /// Changes a transfer's options; one that runs takes limits at once and starts anew for the others, keeping its bytes.
    func changeOptions(_ id: GID, _ options: TransferOptions) async throws(ControlError)

    /// The queue's own options, and the defaults of those to come.
    var globalOptions: TransferOptions { get }

    /// Changes them; they survive a restart.
    func changeGlobalOptions(_ options: TransferOptions) async throws(ControlError)

    /// Replaces a transfer's URLs; the bytes that are there are kept.
    func replaceURLs(_ id: GID, with urls: [String]) async throws(ControlError)

    /// Sets the most connections to one host, by its name; `nil` takes the limit off.
    func setHostLimit(_ host: String, _ connections: Int?) async throws(ControlError)
    /// The limits set for hosts.
    var hostLimits: [String: Int] { get }

    /// Sets when transfers run.
    func setSchedule(_ schedule: Schedule?) async throws(ControlError)
    /// When transfers run; `nil` is always.
    var schedule: Schedule? { get }

    // MARK: Background sessions

    /// Opens a session for one program, or opens it again for the same instance after a lost connection.
    ///
    /// - Parameters:
    ///   - identifier: The session's name.
    ///   - instance: A text that the program chose at random when it opened the session.
    ///   - program: What others are told of it, such as `imagequeue (pid 17)`.
    ///   - configuration: How its transfers are made, see `SessionSettings`; replaces the one that was stored.
    /// - Returns: What there is of it.
    /// - Throws: `sessionInUse`, `badParameter`.
    func openSession(
        _ identifier: String,
        instance: String,
        program: String,
        configuration: JSON
    ) async throws(ControlError) -> SessionOpening

    /// The session's events after `after`, those that are stored first, then as they come; progress among the latter.
    ///
    /// The session counts as connected as long as the sequence is being read.
    ///
    /// - Throws: `sessionInUse` where `instance` is not the one that opened it.
    func sessionEvents(
        _ identifier: String,
        instance: String,
        after: Int64
    ) async throws(ControlError) -> AsyncStream<SessionEvent>

    /// Forgets the session's events up to a number, inclusive.
    func acknowledge(_ identifier: String, upTo number: Int64) async throws(ControlError)

    /// Removes a session's transfers that have not ended (`keepsTransfers` false), and forgets the session once it is empty.
    func closeSession(_ identifier: String, instance: String, keepsTransfers: Bool) async throws(ControlError)

    /// The sessions there are.
    func sessions() async throws(ControlError) -> [SessionSummary]

    // MARK: The daemon

    /// What happens to transfers of the shared queue and of all sessions, from now on.
    ///
    /// - Parameter capacity: Beyond that many unread events, progress is dropped first, then the sequence ends.
    /// - Returns: The events, for one consumer.
    func events(capacity: Int) -> AsyncStream<ServiceEvent>

    /// Bytes received for the transfers that have ended since the start, without any I/O; `nil` where nobody counts them.
    var receivedBytes: Int64? { get }

    /// Writes everything that is not durable yet.
    func save() async throws(ControlError)

    /// Begins to stop the daemon; returns at once. `isForced` does not wait for what can be cut off.
    func stop(isForced: Bool)
}

extension TransferService {
    /// Nobody counts them.
    package var receivedBytes: Int64? { nil }
}

/// Which transfers are listed.
package struct ListQuery: Sendable, Hashable {
    /// The states; empty is all.
    package var states: Set<TransferRecord.State> = []
    /// The session: `.some(nil)` the shared queue alone, `nil` everything.
    package var session: String??
    /// How many to leave out; negative counts from the end: -1 begins with the last, and goes backwards (aria2).
    package var offset = 0
    /// At most how many.
    package var limit = 1000

    /// Everything, at most a thousand.
    ///
    /// Order: those that have not ended in the line's order; those that have by the time of their end, oldest first.
    package init(
        states: Set<TransferRecord.State> = [],
        session: String?? = nil,
        offset: Int = 0,
        limit: Int = 1000
    ) {
        self.states = states
        self.session = session
        self.offset = offset
        self.limit = limit
    }
}

/// What can be done to a transfer.
package enum TransferAction: Sendable, Hashable {
    /// Stops it until it is resumed; it keeps what it has.
    case pause
    /// Puts a paused one in line again, at its old place.
    case resume
    /// Puts a failed or removed one in line again, at the end; the bytes that are there are kept.
    case retry
    /// Ends one that has not ended as removed; `deletesPartial` deletes the partial file.
    case remove(deletesPartial: Bool)
    /// Forgets one that has ended.
    case forget
    /// Changes the priority.
    case setPriority(Int)
}

/// Which transfers something is done to.
package enum TransferSelection: Sendable, Hashable {
    /// These.
    case ids([GID])
    /// All, of the shared queue or of one session.
    case all(session: String?)
}

/// What an offset is counted from (aria2's `how`).
package enum MoveOrigin: String, Sendable, Hashable {
    /// `POS_SET`: the beginning.
    case start = "POS_SET"
    /// `POS_CUR`: where it is.
    case current = "POS_CUR"
    /// `POS_END`: the end.
    case end = "POS_END"
}

/// When transfers run, in local time.
package struct Schedule: Sendable, Hashable {
    /// Minutes since midnight at which transfers may begin; one that equals ``end`` is always.
    package var start: Int
    /// Minutes since midnight at which they are paused; may lie before `start`, over midnight.
    package var end: Int
    /// The days that a period begins on, 0 for Sunday; empty is every day.
    package var days: Set<Int>

    /// Creates a schedule.
    package init(start: Int, end: Int, days: Set<Int> = []) {
        self.start = start
        self.end = end
        self.days = days
    }
}

/// Something that happened in the daemon.
package enum ServiceEvent: Sendable {
    /// It began to run.
    case started(TransferRecord)
    /// It was paused.
    case paused(TransferRecord)
    /// It was removed.
    case removed(TransferRecord)
    /// It is whole and durable.
    case finished(TransferRecord)
    /// It failed.
    case failed(TransferRecord)
    /// It was added, or put in line again.
    case queued(TransferRecord)
    /// Those that run, about five times a second while any does.
    case progress([TransferRecord])
    /// Nothing waits or runs any more.
    case drained
}

/// What a program learns when it opens a session.
package struct SessionOpening: Sendable {
    /// All its transfers that have not ended, and those whose end was not acknowledged.
    package var transfers: [TransferRecord]
    /// The number of the last event that was acknowledged.
    package var acknowledged: Int64
    /// The number of the last event there is.
    package var last: Int64

    /// Creates one.
    package init(transfers: [TransferRecord], acknowledged: Int64, last: Int64) {
        self.transfers = transfers
        self.acknowledged = acknowledged
        self.last = last
    }
}

/// An event of a session.
package struct SessionEvent: Sendable, Hashable {
    /// Its number, from 1 on without gaps; 0 for progress, which is not stored.
    package var number: Int64
    /// The event as the program is given it: `kind` (`response`, `progress`, `finished`, `failed`, `removed`), `id`, and
    /// what belongs to it; see Docs/rpc.md.
    package var json: JSON

    /// Creates one.
    package init(number: Int64, json: JSON) {
        self.number = number
        self.json = json
    }
}

/// A session, for people.
package struct SessionSummary: Sendable, Hashable {
    /// Its identifier.
    package var identifier: String
    /// Its transfers that have not ended.
    package var unfinished: Int
    /// Its events that were not acknowledged.
    package var unacknowledged: Int
    /// The program that has it open.
    package var program: String?

    /// Creates one.
    package init(identifier: String, unfinished: Int, unacknowledged: Int, program: String?) {
        self.identifier = identifier
        self.unfinished = unfinished
        self.unacknowledged = unacknowledged
        self.program = program
    }
}

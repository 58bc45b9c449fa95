// SPDX-License-Identifier: Apache-2.0
/// The values that the queue's events carry, and their consequences.
extension EngineMachine {
    /// The terms of a transfer, which do not change.
    package struct Terms: Sendable {
        /// The host in whose queue it waits.
        package var origin: Origin
        /// The order among the waiting transfers.
        package var priority = Priority.normal
        /// The maximum number of retries without progress.
        package var retries = 0
        /// The minimum time between attempts, in nanoseconds.
        package var retryWait: Int64 = 0
        /// The time for all attempts and the waits between them, in nanoseconds; 0 for no limit.
        package var totalTimeout: Int64 = 0
        /// The number of connections fixed by its caller; a derived limit per host does not reduce it.
        package var fixedConnections: Int?
        /// Whether its file is synced, together with others, before it counts as finished.
        package var isDurable = false
        /// The proxy through which its host is reached, which is then held in place of the host.
        package var gate: Origin?
        /// The time for which it waits out an outage, in nanoseconds, from the time when its host became unreachable;
        /// `nil` if an outage is a failure like any other.
        package var outageTimeout: Int64?
        /// The time since which it has waited outside this queue: an attempt at its host that failed later counts.
        package var waitsSince = Int64.max
        /// Whether its attempts that fail in an outage count as retries.
        package var countsOutages = false

        /// The longest delay requested by a server that it waits for, in seconds, at most a year; `nil` if longer ones
        /// are shortened to ``RetryBudget/longestRetryAfter``.
        package var maximumRetryAfter: Int64?
        /// Whether it waits for the `robots.txt` of its origin, if the queue obeys them.
        package var obeysRobots = true
        /// Whether it may be the one that finds out whether a host still responds with errors: its request can be
        /// repeated, and its content is short.
        package var mayProbe = true
        /// The other hosts from which it can be fetched; it starts there if its own host is held.
        package var mirrors: [MirrorHost] = []

        /// Creates the terms of a transfer that is tried once.
        package init(origin: Origin) { self.origin = origin }
    }

    /// Another host that has the resource of a transfer.
    package struct MirrorHost: Hashable, Sendable {
        /// The host.
        package var origin: Origin
        /// The proxy through which it is reached.
        package var gate: Origin?

        /// Creates a host.
        package init(origin: Origin, gate: Origin? = nil) {
            self.origin = origin
            self.gate = gate
        }
    }

    /// The result of a run, as the run reports it.
    package enum RunResult: Sendable {
        /// The file is complete.
        case finished(isSkipped: Bool)
        /// It failed for good.
        case failed
        /// It failed, and another attempt may succeed.
        case retry(Failure)
        case paused
        /// The engine is being stopped.
        case stopped
        /// It was cancelled; the partial file may have been kept.
        case cancelled(keeping: Bool)

        /// Whether a file system was full or read-only.
        var concernsFileSystem: Bool { if case .retry(let failure) = self { failure.fileSystem != nil } else { false } }
    }

    /// The facts about a failed attempt that decide about the next one.
    package struct Failure: Sendable {
        package var evidence: OutageEvidence?
        /// Whether the server is overloaded or limits requests (429, 503).
        package var isThrottled: Bool
        /// Whether this machine had too few file descriptors, or ports.
        package var isShortage: Bool
        /// The file system that is full or read-only.
        package var fileSystem: FileSystem?
        /// Whether another process is downloading the file.
        package var awaitsFile = false
        /// A message for the user.
        package var message: String
        /// The delay in seconds that the server requested.
        package var retryAfter: Int64?
        /// The delay in nanoseconds that the program has chosen instead; it uses up no retry.
        package var chosenDelay: Int64?
        /// A random number from 0 to 1.
        package var jitter: Double

        /// Creates the facts.
        package init(
            _ evidence: OutageEvidence? = nil,
            isThrottled: Bool = false,
            isShortage: Bool = false,
            message: String = "",
            retryAfter: Int64? = nil,
            jitter: Double
        ) {
            self.evidence = evidence
            self.isThrottled = isThrottled
            self.isShortage = isShortage
            self.message = message
            self.retryAfter = retryAfter
            self.jitter = jitter
        }
    }

    /// The counts of one run.
    package struct Tally: Sendable {
        /// Bytes of body received.
        package var received: Int64 = 0
        /// Bytes of content sent.
        package var sent: Int64 = 0
        /// Whether the host responded in this run.
        package var hasResponse = false
        /// The failure of a transfer that is not repeated, although its last response reports an outage.
        package var report: Failure?
        /// See ``RetryBudget/kept(_:)``.
        package var kept: Int64 = 0
        /// See ``Terms/mayProbe``, if the run has found out.
        package var mayProbe: Bool?
        /// The time that it ran, in nanoseconds.
        package var duration: Int64 = 0

        /// Creates counts of zero.
        package init() {}
    }

    /// The consequence of an event for the transfer concerned.
    package enum Verdict: Hashable, Sendable {
        /// Nothing changed.
        case unchanged
        /// It waits to be admitted.
        case waiting
        case paused
        /// Its file is complete and waits to be synced.
        case unsynced
        /// Another attempt follows after a delay in nanoseconds.
        case retrying(attempt: Int, delay: Int64)
        /// It waits for the end of an outage; the next attempt, its own or another transfer's, follows after a delay in
        /// nanoseconds.
        case held(attempt: Int, delay: Int64)
        /// It has ended with a complete file.
        case finished
        /// It has ended without the file.
        case failed
        /// It has ended without the file, because no further attempt is made.
        case refused(RetryRefusal)
        /// It was cancelled; its data may be kept.
        case cancelled(keeping: Bool)
        /// It runs and must be interrupted; ``EngineMachine/runEnded(_:_:_:now:)`` follows.
        case interrupt

        /// Whether the transfer has ended and is forgotten.
        package var isEnd: Bool {
            switch self {
            case .finished, .failed, .refused, .cancelled: true
            case .unchanged, .waiting, .paused, .unsynced, .retrying, .held, .interrupt: false
            }
        }
    }

    /// The reason why no further attempt is made.
    package enum RetryRefusal: Hashable, Sendable {
        /// The retries are used up.
        case noneLeft(attempts: Int)
        /// The outage has lasted longer than the transfer waits.
        case outage(Hold)
        /// The server requested a retry after more seconds than the transfer waits.
        case retryAfter(seconds: Int64)
        /// Its file system is full or read-only, for longer than the transfer waits.
        case fileSystem
        /// The transfer's time would expire before the next attempt.
        case outOfTime
    }

    /// The numbers of transfers that ended, and the bytes of runs that ended.
    package struct Totals: Sendable {
        package var finished = 0
        package var skipped = 0
        package var failed = 0
        package var cancelled = 0
        package var received: Int64 = 0
        package var sent: Int64 = 0
    }
}

// SPDX-License-Identifier: Apache-2.0
/// A run whose partial file or stream is open.
struct Fetching: Sendable {
    enum Held: Sendable {
        case partial
        case stream
        /// A finished file that is copied and continued once the overlap agrees (`--if-exists resume`).
        indirect case existing(ExistingFile)
    }

    var held: Held
    var planner: SegmentPlanner
    /// Held bytes after a gap, which the plan does not count.
    ///
    /// A whole response that continues the bytes before the gap writes them again; until then the journal has them.
    var beyond: [ByteRange] = []
    /// The facts of the response that the held bytes are from.
    var facts: Boxed<ResourceFacts>?
    /// The facts that the journal has.
    var recorded: Boxed<ResourceFacts>?
    /// The digests of the whole that the server declared.
    var digests: [ExpectedDigest] = []
    var doesRanges = false
    var verifiedLength = true
    /// Whether the next request is for the whole, because the held bytes may be of another version.
    var requestsWhole = false
    /// Whether the response that replaces the held bytes is a restart that has not been counted yet.
    var owesRestart = false
    /// Whether the next request must confirm that the file ends at the end of the held bytes.
    var probesEnd = false
    /// Whether the partial file was created by a transfer of another URL.
    var isForeign = false
    var sinceCheckpoint: Int64 = 0
    var lastCheckpoint: Int64

    init(_ held: Held, _ planner: SegmentPlanner, facts: Boxed<ResourceFacts>?, now: Int64) {
        self.held = held
        self.planner = planner
        self.facts = facts
        self.lastCheckpoint = now
    }

    /// Whether the file has no bytes.
    var isEmpty: Bool { self.planner.completed == 0 && self.beyond.isEmpty }

    /// The number of bytes that the file has.
    var heldBytes: Int64 {
        let prefix = self.beyond.isEmpty ? 0 : self.planner.heldPrefix
        return self.beyond.reduce(self.planner.completed) { $0 + max(0, $1.upperBound - max($1.lowerBound, prefix)) }
    }

    /// Plans to receive everything after the bytes held without a gap, in one response.
    mutating func continuePrefix(length: Int64?) {
        let prefix = self.planner.heldPrefix
        self.beyond += self.planner.held.filter { $0.lowerBound > 0 }
        self.planner = SegmentPlanner(length: length, have: [0..<prefix])
    }

    var isPartial: Bool { if case .partial = self.held { true } else { false } }
    var isStream: Bool { if case .stream = self.held { true } else { false } }
}

/// The steps from the first response to its file.
enum Opening: Sendable {
    /// No response has been accepted.
    case awaiting
    /// The response proposes a name, which is reserved and surveyed.
    indirect case naming(Pending)
    /// The file is being created.
    case creating(Accepted)

    /// A response that waits for its name.
    struct Pending: Sendable {
        var request: DownloadAction.RequestNumber
        var head: ResponseHead
        var length: Int64?
        /// The range that it carries, if not the whole.
        var part: ByteRange?
    }

    /// The facts of the file that a response determines.
    struct Accepted: Sendable {
        var request: DownloadAction.RequestNumber
        var facts: Boxed<ResourceFacts>
        var digests: [ExpectedDigest]
        var doesRanges: Bool
        var verifiedLength: Bool
        /// The name; that of a second partial file while the older one is kept.
        var target: FileTarget
    }
}

/// A small file that is open.
struct SmallDownload: Sendable {
    var length: Int64
    var received: Int64 = 0
    var facts: Boxed<ResourceFacts>
    var digests: [ExpectedDigest]
    var doesRanges: Bool
    var verifiedLength: Bool
}

/// A complete file.
struct Committing: Sendable {
    enum Kind: Sendable {
        case small
        case partial
        case stream
    }

    var kind: Kind
    var length: Int64
    var facts: Boxed<ResourceFacts>?
    var digests: [ExpectedDigest]
    var verifiedLength: Bool
    /// The outcome of an interruption during the commit; it applies only if the commit fails.
    var interruption: RunOutcome?
}

/// The number of connections of a download, and the observations about them.
struct ConnectionPlan: Sendable {
    var advisor: ConnectionAdvisor
    /// The number requested by the user, reduced to what the server accepts; `nil` for an adaptive number.
    var fixed: Int?
    /// The most connections that are opened because there are mirrors, reduced to what the servers accept.
    var mostOfMirrors = 4
    /// Whether this run has accepted a response.
    var hasTaken = false
    /// The highest rate of a connection of this run, and the shortest time to a response head.
    var bestRate: Double = 0
    var bestHeadTime: Int64?
    /// The number of last pieces taken over from other connections.
    var takeovers = 0
    /// The number of connections closed while others continued, because their responses could not be used.
    var dismissals = 0

    init(_ policy: ConnectionPolicy) {
        switch policy {
        case .fixed(let count):
            self.fixed = max(1, count)
            self.advisor = ConnectionAdvisor(most: 1)
        case .adaptive(let most): self.advisor = ConnectionAdvisor(most: most)
        }
    }

    /// Reduces the number to what the server accepts.
    mutating func refused(having count: Int) {
        self.advisor.refused(having: count)
        self.mostOfMirrors = min(self.mostOfMirrors, max(1, count))
        self.fixed = self.fixed.map { min($0, max(1, count)) }
    }
}

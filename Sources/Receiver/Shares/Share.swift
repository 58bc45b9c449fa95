// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// Limits how often, and until when, a file may be downloaded by its link.
///
/// Pure value. Bytes are counted. A client's first request claims one of the link's downloads; the claim is bound to the
/// ticket that the client got then, or to its address if it presents no ticket. A claim may transfer one and a half
/// times the file: an interrupted download can be continued by any ranges, or restarted if less than half of it was
/// transferred, but nothing adds up to two copies. A claim that transferred less than half of the file and then rests,
/// such as a link preview's, is given to the next client; what such claims transferred is limited, too.
///
/// A claim's stored count is an upper bound of the bytes that it has transferred; it is raised in steps before bytes are
/// sent, and lowered when the claim rests with much less. A share that is restored from its record therefore never permits more than
/// an uninterrupted share.
struct Share: Sendable {
    /// A client, as far as it can be recognized.
    struct Client: Hashable, Sendable {
        /// The ticket that it presents, or `nil`.
        var ticket: String?
        var address: String
    }

    /// The number of a claim; never reused.
    typealias ClaimID = Int

    /// The decision about a request.
    enum Verdict: Hashable, Sendable {
        /// Serve it without counting: the link has no limit.
        case serve
        /// Serve it on this claim: its bytes are taken by ``Share/take(_:of:for:)``, and its end is reported.
        case claim(ClaimID)
        /// The link is exhausted or has expired.
        case gone
        /// All downloads are running or rest since a short time.
        case busy
    }

    struct Claim {
        var ticket: String
        var address: String
        /// Whether a client has presented the ticket; the address then says nothing any more.
        var isProven = false
        /// The number of content bytes transferred, those of running responses included.
        var sent: Int64 = 0
        /// The number of bytes that the record counts; at least ``sent`` when bytes are sent.
        var stored: Int64 = 0
        /// The number of bytes by which the record may exceed ``sent`` while no response is running.
        var slack: Int64 = 0
        /// The number of running responses.
        var running = 0
        /// The time of the last event, in seconds since 1970.
        var last: Int64
    }

    private let expires: Int64?
    private let downloads: Int?
    var claims: [ClaimID: Claim] = [:]
    var nextClaim: ClaimID = 0
    /// The number of finished downloads whose claims are forgotten.
    var finished = 0
    /// The number of bytes transferred on claims that were given to another client.
    var spilled: Int64 = 0
    /// The claims that differ from their records, also those that are forgotten.
    var changed: Set<ClaimID> = []

    /// The time for which a claim must rest before another client gets it, in seconds.
    static let rest: Int64 = 60
    /// The time for which an address is enough after the whole file was transferred, in seconds.
    static let grace: Int64 = 10
    /// The maximum number of concurrent responses on one claim.
    private static let mostRunning = 64
    /// The number of claims above which finished ones are forgotten.
    private static let mostClaims = 4096
    /// The time after which a finished claim may be forgotten, in seconds.
    private static let patience: Int64 = 3600

    /// - Parameters:
    ///   - expires: The time of expiry in seconds since 1970, or `nil`.
    ///   - downloads: The maximum number of downloads, or `nil`.
    init(expires: Int64?, downloads: Int?) {
        self.expires = expires
        self.downloads = downloads
    }

    /// Decides about a request for the file or a part of it.
    ///
    /// - Parameters:
    ///   - count: The number of content bytes of its response, more than 0.
    ///   - length: The length of the file in bytes.
    ///   - client: The client.
    ///   - ticket: An unused ticket, for a new claim.
    ///   - now: The current time, in seconds since 1970.
    /// - Returns: The decision.
    mutating func requested(
        _ count: Int64,
        of length: Int64,
        by client: Client,
        offering ticket: String,
        now: Int64
    ) -> Verdict {
        if let expires, now >= expires { return .gone }
        guard let downloads else { return .serve }
        if let id = self.claim(of: client, admitting: count, of: length, now: now)
            ?? self.free(downloads, length, now: now)
        {
            if self.claims[id] == nil {
                self.claims[id] = Claim(ticket: ticket, address: client.address, last: now)
            }
            self.claims[id]?.running += 1
            self.claims[id]?.last = now
            if self.claims[id]?.ticket == client.ticket, self.claims[id]?.isProven == false {
                self.claims[id]?.isProven = true
                self.changed.insert(id)
            }
            return .claim(id)
        }
        let mayBecomeFree = self.claims.values.contains { $0.running > 0 || self.canSpill($0, downloads, length) }
        return mayBecomeFree ? .busy : .gone
    }

    /// The ticket of a claim, to be handed to its client.
    func ticket(_ id: ClaimID) -> String? { self.claims[id]?.ticket }

    /// Counts bytes that are about to be sent.
    ///
    /// - Returns: Whether they may be sent; false if the claim is exhausted.
    mutating func take(_ count: Int64, of length: Int64, for id: ClaimID) -> Bool {
        guard let claim = self.claims[id], count <= Self.allowance(length) - claim.sent else { return false }
        self.claims[id]?.sent += count
        return true
    }

    /// Returns bytes that were taken and are not sent.
    mutating func untake(_ count: Int64, for id: ClaimID) { self.claims[id]?.sent -= count }

    /// Raises the stored count of a claim if the bytes taken have used it up.
    ///
    /// - Parameters:
    ///   - id: The claim.
    ///   - ahead: The number of bytes that will be taken next.
    ///   - length: The length of the file in bytes.
    /// - Returns: Whether the count was raised: the record must be stored before the bytes are sent.
    mutating func lease(_ id: ClaimID, ahead: Int64, of length: Int64) -> Bool {
        guard let claim = self.claims[id], claim.stored < claim.sent || claim.stored == claim.sent && ahead > 0 else {
            return false
        }
        // A sixteenth of the file: a copy needs few syncs, also in small ranges, and a crash counts few bytes wrongly.
        let part = length / 16
        let step = min(max(part, ahead), max(part, 64 << 10))
        self.claims[id]?.stored = min(Self.allowance(length), claim.sent.adding(clamping: step))
        self.claims[id]?.slack = part
        self.changed.insert(id)
        return true
    }

    /// A response on a claim has ended.
    ///
    /// - Parameters:
    ///   - id: The claim.
    ///   - unsent: The number of bytes that were taken and did not reach the client.
    ///   - now: The current time, in seconds since 1970.
    mutating func ended(_ id: ClaimID, unsent: Int64, now: Int64) {
        self.claims[id]?.running -= 1
        self.claims[id]?.sent -= unsent
        self.claims[id]?.last = now
        guard let claim = self.claims[id], claim.running == 0, claim.stored - claim.sent > claim.slack else { return }
        self.settle(id)
    }

    /// Lowers the stored counts to the bytes that were sent.
    mutating func settle() {
        for (id, claim) in self.claims where claim.running == 0 && claim.stored > claim.sent { self.settle(id) }
    }

    private mutating func settle(_ id: ClaimID) {
        guard let claim = self.claims[id] else { return }
        self.claims[id]?.stored = claim.sent
        self.changed.insert(id)
    }

    /// The number of downloads that transferred the complete file.
    func completed(of length: Int64) -> Int {
        self.finished + self.claims.values.count { $0.sent >= length }
    }

    /// Whether another client may get a download, now or later.
    func admitsOthers(of length: Int64) -> Bool {
        guard let downloads else { return true }
        return self.claims.count + self.finished < downloads
            || self.claims.values.contains { $0.running > 0 || self.canSpill($0, downloads, length) }
    }

    /// The time since which nothing more is promised by the link, in seconds since 1970; `nil` if it can be used.
    func over(of length: Int64, now: Int64) -> Int64? {
        if let expires, now >= expires { return expires }
        guard let downloads, self.completed(of: length) >= downloads else { return nil }
        return self.claims.values.map(\.last).max() ?? 0
    }

    /// The number of bytes that one claim may transfer.
    private static func allowance(_ length: Int64) -> Int64 { length > .max / 2 ? .max : length + length / 2 }

    /// The claim on which the request of a client may be served, or `nil`.
    ///
    /// An address is enough only until the whole file was transferred, and shortly after: some bytes of a download over
    /// several connections are sent twice. While a claim's response is running, only parts of the file are served beside it.
    private func claim(of client: Client, admitting count: Int64, of length: Int64, now: Int64) -> ClaimID? {
        let isTicketKnown = client.ticket.map { ticket in self.claims.values.contains { $0.ticket == ticket } } ?? false
        return self.claims
            .filter { entry in
                let claim = entry.value
                let isSame =
                    isTicketKnown
                    ? claim.ticket == client.ticket
                    : !claim.isProven && claim.address == client.address
                        && (claim.sent < length || claim.running > 0
                            || now.subtracting(clamping: claim.last) < Self.grace)
                guard isSame else { return false }
                return count <= Self.allowance(length) - claim.sent && claim.running < Self.mostRunning
                    && (claim.running == 0 || count < length)
            }
            .keys.min()
    }

    /// A claim for another client: an unused one, or one that rests.
    private mutating func free(_ downloads: Int, _ length: Int64, now: Int64) -> ClaimID? {
        self.forgetFinished(length, now: now)
        if self.claims.count + self.finished >= downloads {
            guard
                let resting = self.claims
                    .filter({
                        $0.value.last.adding(clamping: Self.rest) <= now && self.canSpill($0.value, downloads, length)
                    })
                    .min(by: { $0.value.last < $1.value.last })
            else { return nil }
            self.spilled = self.spilled.adding(clamping: resting.value.sent)
            self.claims[resting.key] = nil
            self.changed.insert(resting.key)
        }
        self.nextClaim += 1
        return self.nextClaim
    }

    /// Whether a claim may be given to another client.
    private func canSpill(_ claim: Claim, _ downloads: Int, _ length: Int64) -> Bool {
        let (most, overflow) = (length / 2).multipliedReportingOverflow(by: Int64(downloads))
        return claim.running == 0 && claim.sent <= length / 2
            && (overflow || self.spilled.adding(clamping: claim.sent) <= most)
    }

    private mutating func forgetFinished(_ length: Int64, now: Int64) {
        guard self.claims.count > Self.mostClaims else { return }
        let kept = self.claims.filter { _, claim in
            claim.running > 0 || claim.sent < length || claim.last.adding(clamping: Self.patience) > now
        }
        self.finished += self.claims.count - kept.count
        self.changed.formUnion(self.claims.keys.filter { kept[$0] == nil })
        self.claims = kept
    }
}

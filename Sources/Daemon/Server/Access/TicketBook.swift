// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import TransferCore

/// The one-time tickets that open the daemon's page.
///
/// Pure value; only the digests of the tickets are kept.
struct TicketBook {
    /// The seconds for which a ticket is valid.
    static let lifetime = 60.0
    /// The maximum number of unused tickets; the oldest one is dropped for one more.
    static let most = 16

    private var tickets: [(digest: SHA256.Digest, expires: Double)] = []

    mutating func add(_ ticket: String, now: Double) {
        self.tickets.removeAll { $0.expires <= now }
        if self.tickets.count >= Self.most { self.tickets.removeFirst() }
        self.tickets.append((Self.digest(ticket), now + Self.lifetime))
    }

    /// Removes a ticket; returns whether it was valid.
    mutating func redeem(_ ticket: String, now: Double) -> Bool {
        let digest = Self.digest(ticket)
        guard let index = self.tickets.firstIndex(where: { $0.digest == digest }) else { return false }
        return self.tickets.remove(at: index).expires > now
    }

    private static func digest(_ ticket: String) -> SHA256.Digest { SHA256.hash(data: Array(ticket.utf8)) }
}

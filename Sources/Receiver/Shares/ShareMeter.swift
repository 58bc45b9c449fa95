// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization

/// Counts the bytes of one response on a claim of a link.
final class ShareMeter: ResponseMeter {
    private let table: ShareTable
    private let token: String
    private let claim: Share.ClaimID
    private let length: Int64
    private let taken = Atomic<Int64>(0)

    init(_ table: ShareTable, token: String, claim: Share.ClaimID, length: Int64) {
        self.table = table
        self.token = token
        self.claim = claim
        self.length = length
    }

    func take(_ count: Int64) -> Bool {
        guard self.table.take(count, of: self.length, token, self.claim) else { return false }
        self.taken.add(count, ordering: .relaxed)
        return true
    }

    func ended(arrived: Int64) {
        let taken = self.taken.load(ordering: .relaxed)
        self.table.ended(token, self.claim, unsent: max(0, taken - arrived))
    }
}

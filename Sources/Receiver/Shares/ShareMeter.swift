// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization

/// Counts the bytes of one response on a claim of a link.
final class ShareMeter: ResponseMeter {
    private struct State {
        var taken: Int64 = 0
        var isOver = false
    }

    private let table: ShareTable
    private let token: String
    private let claim: Share.ClaimID
    private let length: Int64
    private let count: Int64
    private let later: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - table: The table of the links.
    ///   - token: The link.
    ///   - claim: The claim.
    ///   - length: The length of the file.
    ///   - count: The length of the response.
    ///   - later: Runs blocking work soon.
    init(
        _ table: ShareTable,
        token: String,
        claim: Share.ClaimID,
        length: Int64,
        count: Int64,
        later: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.table = table
        self.token = token
        self.claim = claim
        self.length = length
        self.count = count
        self.later = later
    }

    func take(_ count: Int64) -> Bool {
        let ahead = self.count - count - self.state.withLock { $0.taken }
        guard self.table.take(count, ahead: max(0, ahead), of: self.length, self.token, self.claim) else {
            return false
        }
        // The connection may have been lost meanwhile.
        let isOver = self.state.withLock { state in
            if !state.isOver { state.taken += count }
            return state.isOver
        }
        if isOver { self.table.untake(count, self.token, self.claim) }
        return !isOver
    }

    func ended(arrived: Int64) {
        let taken = self.state.withLock { state in
            state.isOver = true
            return state.taken
        }
        guard self.table.ended(self.token, self.claim, unsent: max(0, taken - arrived)) else { return }
        let table = self.table
        self.later { table.persistAll() }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The record of a share, as JSON.
extension Share {
    /// The whole record.
    var record: [JSON.Member] { self.members(of: self.claims.keys.sorted(), gone: []) }

    /// The part of the record that has changed since the last call; `nil` if nothing has.
    mutating func takeChanges() -> [JSON.Member]? {
        guard !self.changed.isEmpty else { return nil }
        defer { self.changed = [] }
        let ids = self.changed.sorted()
        return self.members(of: ids.filter { self.claims[$0] != nil }, gone: ids.filter { self.claims[$0] == nil })
    }

    private func members(of ids: [ClaimID], gone: [ClaimID]) -> [JSON.Member] {
        let claims = ids.compactMap { id -> JSON? in
            guard let claim = self.claims[id] else { return nil }
            return .object([
                JSON.Member("id", .integer(Int64(id))), JSON.Member("ticket", .string(claim.ticket)),
                JSON.Member("address", .string(claim.address)), JSON.Member("proven", .bool(claim.isProven)),
                JSON.Member("bytes", .integer(max(claim.stored, claim.sent))),
                JSON.Member("last", .integer(claim.last)),
            ])
        }
        return [
            JSON.Member("claims", .array(claims)),
            JSON.Member("gone", .array(gone.map { .integer(Int64($0)) })),
            JSON.Member("next", .integer(Int64(self.nextClaim))),
            JSON.Member("finished", .integer(Int64(self.finished))),
            JSON.Member("spilled", .integer(self.spilled)),
        ]
    }

    /// Applies a record, or a part of one.
    ///
    /// - Returns: Whether the record is valid; otherwise nothing was changed.
    mutating func apply(_ record: JSON) -> Bool {
        guard let entries = record["claims"]?.array, let gone = record["gone"]?.array,
            let next = record["next"]?.integer, let finished = record["finished"]?.integer,
            let spilled = record["spilled"]?.integer, next >= 0, finished >= 0, spilled >= 0
        else { return false }
        var claims = self.claims
        for id in gone { if let id = id.integer { claims[ClaimID(id)] = nil } }
        for entry in entries {
            guard let id = entry["id"]?.integer, let ticket = entry["ticket"]?.string,
                let address = entry["address"]?.string, let isProven = entry["proven"]?.bool,
                let bytes = entry["bytes"]?.integer, let last = entry["last"]?.integer, bytes >= 0
            else { return false }
            claims[ClaimID(id)] = Claim(
                ticket: ticket,
                address: address,
                isProven: isProven,
                sent: bytes,
                stored: bytes,
                last: last
            )
        }
        self.claims = claims
        // Far above every real count, so that counting never overflows.
        self.nextClaim = Int(min(next, 1 << 48))
        self.finished = Int(min(finished, 1 << 48))
        self.spilled = spilled
        return true
    }

    /// Continues after a restart: unfinished downloads get the usual time to resume.
    mutating func restarted(length: Int64, now: Int64) {
        for (id, claim) in self.claims where claim.sent < length { self.claims[id]?.last = now }
    }
}

// SPDX-License-Identifier: Apache-2.0
package import TransferCore

extension ControlClient {
    /// Adds transfers, all or none, in their order.
    ///
    /// - Parameters:
    ///   - entries: The transfers. One with an identifier may be added again after a lost connection: `duplicate` then
    ///     means that the first request was executed.
    ///   - position: The position of the first one among transfers that have not ended, or `nil` for the end.
    /// - Returns: Their identifiers.
    /// - Throws: ``ControlError``; see `martlet.add`.
    package func add(_ entries: [NewTransfer], at position: Int? = nil) async throws(ControlError) -> [GID] {
        var params: [JSON.Member] = [.init("entries", .array(entries.map(\.json)))]
        if let position { params.append(.init("position", .integer(Int64(position)))) }
        let ids = try await self.call("martlet.add", .object(params)).array?
            .compactMap { $0.string.flatMap { GID($0) } }
        guard let ids, ids.count == entries.count else { throw Self.strange("martlet.add") }
        return ids
    }

    /// The transfers with these identifiers, which may be abbreviated.
    ///
    /// - Throws: ``ControlError`` with `notFound` or `ambiguous` for the first identifier that does not match one
    ///   transfer.
    package func show(_ ids: [String], details: Bool = false) async throws(ControlError) -> [TransferRecord] {
        var params: [JSON.Member] = [.init("ids", .array(ids.map { .string($0) }))]
        if details { params.append(.init("details", true)) }
        return try await self.records("martlet.show", .object(params))
    }

    /// A page of transfers: those that have not ended in the queue's order, then those that have.
    ///
    /// - Parameters:
    ///   - states: The states; all if empty.
    ///   - session: A background session, or `nil` for all transfers.
    ///   - offset: The number of transfers to skip.
    ///   - limit: The maximum number of transfers.
    /// - Returns: The transfers.
    /// - Throws: ``ControlError``; see `martlet.list`.
    package func list(
        states: [TransferRecord.State] = [],
        session: String? = nil,
        offset: Int = 0,
        limit: Int = 1000
    ) async throws(ControlError) -> [TransferRecord] {
        var params: [JSON.Member] = [.init("offset", .integer(Int64(offset))), .init("limit", .integer(Int64(limit)))]
        if !states.isEmpty { params.append(.init("states", .array(states.map { .string($0.rawValue) }))) }
        if let session { params.append(.init("session", .string(session))) }
        return try await self.records("martlet.list", .object(params))
    }

    /// The transfers in some states whose identifiers begin with some digits.
    ///
    /// - Parameters:
    ///   - prefix: Up to 16 hexadecimal digits; none for the first transfers of the queue.
    ///   - states: The states; all if empty.
    ///   - limit: The maximum number of transfers.
    /// - Returns: The transfers, in the order of their identifiers.
    /// - Throws: ``ControlError`` with `badParameter` if the beginning has other characters.
    package func list(
        beginning prefix: String,
        states: [TransferRecord.State],
        limit: Int
    ) async throws(ControlError) -> [TransferRecord] {
        let params: [JSON.Member] = [
            .init("prefix", .string(prefix)), .init("limit", .integer(Int64(limit))),
            .init("states", .array(states.map { .string($0.rawValue) })),
        ]
        return try await self.records("martlet.list", .object(params))
    }

    /// All transfers in some states, in the order of their keys: none is missing or repeated because the queue changes.
    ///
    /// - Parameters:
    ///   - states: The states; all if empty.
    ///   - session: A background session, or `nil` for all transfers.
    /// - Returns: The transfers, in the states that they had when their page was read.
    /// - Throws: ``ControlError``; see `martlet.list`.
    package func enumerate(
        states: [TransferRecord.State] = [],
        session: String? = nil
    ) async throws(ControlError) -> [TransferRecord] {
        var found: [TransferRecord] = []
        while true {
            var params: [JSON.Member] = [.init("after", .integer(found.last?.key ?? 0)), .init("limit", 1000)]
            if !states.isEmpty { params.append(.init("states", .array(states.map { .string($0.rawValue) }))) }
            if let session { params.append(.init("session", .string(session))) }
            let page = try await self.records("martlet.list", .object(params))
            found += page
            guard let last = page.last else { return found }
            guard last.key != nil else {
                throw ControlError(.protocolMismatch, "the daemon is of an older version", remedy: "restart it")
            }
        }
    }

    /// Opens a list of the current transfers; see ``readList(_:limit:)``.
    ///
    /// - Returns: Its name, and the number of transfers.
    package func openList(
        states: [TransferRecord.State] = [],
        session: String? = nil
    ) async throws(ControlError) -> (list: String, count: Int) {
        var params: [JSON.Member] = []
        if !states.isEmpty { params.append(.init("states", .array(states.map { .string($0.rawValue) }))) }
        if let session { params.append(.init("session", .string(session))) }
        let answer = try await self.call("martlet.openList", .object(params))
        return (answer["list"]?.string ?? "", Int(clamping: answer["count"]?.integer ?? 0))
    }

    /// The next transfers of a list; empty at its end.
    package func readList(_ list: String, limit: Int) async throws(ControlError) -> [TransferRecord] {
        try await self.records("martlet.readList", ["list": .string(list), "limit": .integer(Int64(limit))])
    }

    /// The next transfers of a list as JSON text, as the daemon wrote it; empty at its end.
    package func readListText(_ list: String, limit: Int) async throws(ControlError) -> JSONElements {
        try await self.elements("martlet.readList", ["list": .string(list), "limit": .integer(Int64(limit))])
    }

    /// The number of transfers in each state.
    package func counts() async throws(ControlError) -> QueueCounts {
        QueueCounts(json: try await self.call("martlet.counts"))
    }

    /// Applies a method to all transfers of a selection.
    ///
    /// - Parameters:
    ///   - method: `martlet.pause`, `resume`, `retry`, `remove`, `forget` or `setPriority`.
    ///   - selection: The transfers.
    ///   - more: Additional parameters of the method.
    /// - Returns: The number of changed transfers.
    /// - Throws: ``ControlError`` with `notFound`, `ambiguous` or `wrongState`; then nothing was changed.
    @discardableResult
    package func perform(
        _ method: String,
        on selection: ControlSelection,
        _ more: [JSON.Member] = []
    ) async throws(ControlError) -> Int {
        let result = try await self.call(method, .object(selection.members + more))
        return Int(clamping: result["changed"]?.integer ?? 0)
    }

    /// The daemon's description: `version`, `protocol`, `pid`, `stateDirectory`, `dir`, `listen`, `started`.
    ///
    /// - Throws: ``ControlError`` with `protocolMismatch` if the daemon uses another version of the protocol.
    @discardableResult
    package func daemon() async throws(ControlError) -> JSON {
        let answer = try await self.call("martlet.daemon")
        guard answer["protocol"]?.integer == Self.protocolVersion else {
            throw ControlError(
                .protocolMismatch,
                "the daemon that runs is version \(answer["version"]?.string ?? "unknown") and speaks another protocol",
                remedy: "stop it and start it again from this version (martlet stop; martlet daemon)"
            )
        }
        return answer
    }

    /// The version of the protocol that this client uses.
    package static let protocolVersion: Int64 = 1

    private func records(_ method: String, _ params: JSON) async throws(ControlError) -> [TransferRecord] {
        guard let array = try await self.call(method, params).array else { throw Self.strange(method) }
        var records: [TransferRecord] = []
        records.reserveCapacity(array.count)
        for json in array {
            guard let record = TransferRecord(json: json) else { throw Self.strange(method) }
            records.append(record)
        }
        return records
    }

    static func strange(_ method: String) -> ControlError {
        ControlError(
            .protocolMismatch,
            "the daemon's answer to \(method) has another form than this version knows",
            remedy: "stop the daemon and start it again from this version"
        )
    }
}

/// The transfers that a method applies to.
package enum ControlSelection: Sendable, Hashable {
    /// Transfers by identifiers, which may be abbreviated.
    case ids([String])
    /// All transfers of the shared queue or of one background session.
    case all(session: String?)

    /// The selection as members of a method's parameters.
    package var members: [JSON.Member] {
        switch self {
        case .ids(let ids): [.init("ids", .array(ids.map { .string($0) }))]
        case .all(let session):
            [.init("all", true)] + (session.map { [.init("session", .string($0))] } ?? [])
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control
internal import QueueStore

/// Martlet's own methods that list transfers.
enum OwnListing {
    static let methods = [
        RPCMethod("martlet.show") { context, arguments async throws(ControlError) in
            let withDetails = try arguments.flag(named: "details", default: false)
            var records: [JSON] = []
            for id in try await context.ids(try arguments.strings(named: "ids").prefixed(context.configuration)) {
                var record = try await context.service.record(id)
                if withDetails { record.details = try await context.service.details(id) }
                records.append(record.json)
            }
            return .array(records)
        },
        RPCMethod("martlet.list", Self.list),
        RPCMethod("martlet.openList") { context, arguments async throws(ControlError) in
            let (list, count) = try await context.service.openList(try Self.query(arguments))
            return ["list": .string(list), "count": .integer(Int64(count))]
        },
        RPCMethod("martlet.readList") { context, arguments async throws(ControlError) in
            let limit = try Self.limit(arguments, context)
            return .array(
                try await context.service.readList(try arguments.string(named: "list"), limit: limit).map(\.json)
            )
        },
        RPCMethod("martlet.counts") { context, arguments async throws(ControlError) in
            guard arguments.has("session") || arguments.has("search") else { return context.service.counts.json }
            return try await context.service.counts(of: try Self.searching(arguments)).json
        },
        RPCMethod("martlet.subscribe", Self.subscribe),
    ]

    @Sendable
    private static func list(_ context: RPCContext, _ arguments: RPCArguments) async throws(ControlError) -> JSON {
        var query = try Self.searching(arguments)
        if let name = try arguments.optionalString(named: "sort") {
            guard let order = TransferOrder(rawValue: name) else {
                throw ControlError(
                    .badParameter,
                    "\"\(name.prefix(64))\" is not an order",
                    remedy: "give \(TransferOrder.allCases.map(\.rawValue).joined(separator: ", "))"
                )
            }
            query.order = order
        }
        if let prefix = try arguments.optionalString(named: "prefix") {
            guard prefix.utf8.count <= 16, prefix.allSatisfy(\.isHexDigit), query.words.isEmpty, query.order == .queue,
                !arguments.has("after"), !arguments.has("offset")
            else {
                throw ControlError(
                    .badParameter,
                    "\"prefix\" is not the beginning of identifiers, or is combined with another order",
                    remedy: "give up to 16 hexadecimal digits, without \"after\", \"offset\", \"search\" and \"sort\""
                )
            }
            if !prefix.isEmpty { query.prefix = prefix }
        }
        query.after = try arguments.optionalInteger(named: "after")
        if query.after != nil, arguments.has("offset") || !query.words.isEmpty || query.order != .queue {
            throw ControlError(
                .badParameter,
                "\"after\" enumerates in the order of the keys",
                remedy: "leave out \"offset\", \"search\" and \"sort\""
            )
        }
        query.offset = Int(clamping: try arguments.optionalInteger(named: "offset") ?? 0)
        query.limit = try Self.limit(arguments, context)
        guard query.limit > 0 else { return [] }
        return .array(try await context.service.list(query).map(\.json))
    }

    private static func limit(_ arguments: RPCArguments, _ context: RPCContext) throws(ControlError) -> Int {
        let limit = try arguments.optionalInteger(named: "limit") ?? Int64(ListQuery().limit)
        guard limit >= 0 else { throw ControlError(.badParameter, "\"limit\" is negative", remedy: "give 0 or more") }
        return min(Int(clamping: limit), context.configuration.limits.page)
    }

    /// Parses the states, the session and the words to search for.
    private static func searching(_ arguments: RPCArguments) throws(ControlError) -> ListQuery {
        var query = try Self.query(arguments)
        let text = try arguments.optionalString(named: "search") ?? ""
        query.words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard query.words.count <= Self.mostWords, text.utf8.count <= 1024 else {
            throw ControlError(
                .tooMuch,
                "\"search\" is too long",
                remedy: "give at most \(Self.mostWords) words and 1024 bytes"
            )
        }
        return query
    }

    /// The maximum number of words in a search.
    private static let mostWords = 16

    /// Parses the states and the session to list.
    private static func query(_ arguments: RPCArguments) throws(ControlError) -> ListQuery {
        var query = ListQuery()
        for name in try arguments.optionalStrings(named: "states") ?? [] {
            guard let state = TransferRecord.State(rawValue: name) else {
                throw ControlError(
                    .badParameter,
                    "\"\(name.prefix(64))\" is not a state",
                    remedy: "give \(TransferRecord.State.allCases.map(\.rawValue).joined(separator: ", "))"
                )
            }
            query.states.insert(state)
        }
        if arguments.has("session") {
            query.session = .some(try arguments.optionalString(named: "session"))
        }
        return query
    }

    @Sendable
    private static func subscribe(_ context: RPCContext, _ arguments: RPCArguments) async throws(ControlError) -> JSON {
        guard let subscription = context.subscription else {
            throw ControlError(
                .badParameter,
                "martlet.subscribe requires a WebSocket",
                remedy: "read GET /events instead"
            )
        }
        let names = try arguments.optionalStrings(named: "events")
        let withProgress = try arguments.flag(named: "progress", default: names?.contains("progress") ?? false)
        var kinds = Set(names ?? ServiceEvent.kinds)
        guard kinds.isSubset(of: ServiceEvent.kinds) else {
            throw ControlError(
                .badParameter,
                "\"events\" contains an unknown kind",
                remedy: "give \(ServiceEvent.kinds.joined(separator: ", "))"
            )
        }
        if withProgress { kinds.insert("progress") } else { kinds.remove("progress") }
        subscription.subscribed(to: kinds)
        return .object([])
    }
}

extension [String] {
    /// Returns the texts; throws `tooMuch` if there are more than a page.
    fileprivate func prefixed(_ configuration: ServerConfiguration) throws(ControlError) -> [String] {
        guard self.count <= configuration.limits.page else {
            throw ControlError(
                .tooMuch,
                "\(self.count) transfers are too many for one call",
                remedy: "request at most \(configuration.limits.page)"
            )
        }
        return self
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// aria2's methods that list transfers of the shared queue.
enum Aria2Listing {
    static let methods = [
        RPCMethod("aria2.getPeers") { context, arguments async throws(ControlError) in
            _ = try await context.gid(try arguments.string(0))
            return []
        },
        RPCMethod("aria2.tellStatus") { context, arguments async throws(ControlError) in
            let text = try arguments.string(0)
            let keys = try arguments.keys(1)
            return Aria2Status(record: try await context.record(text)).json(keys)
        },
        RPCMethod("aria2.getUris") { context, arguments async throws(ControlError) in
            Aria2Status(record: try await context.record(try arguments.string(0))).uris
        },
        RPCMethod("aria2.getFiles") { context, arguments async throws(ControlError) in
            Aria2Status(record: try await context.record(try arguments.string(0))).files
        },
        RPCMethod("aria2.getServers", Self.getServers),
        RPCMethod("aria2.tellActive") { context, arguments async throws(ControlError) in
            let keys = try arguments.keys(0)
            return try await Self.tell(TransferRecord.State.started, 0, context.configuration.limits.page, keys, context)
        },
        RPCMethod("aria2.tellWaiting") { context, arguments async throws(ControlError) in
            try await Self.tell([.waiting, .paused], arguments, context)
        },
        RPCMethod("aria2.tellStopped") { context, arguments async throws(ControlError) in
            try await Self.tell([.finished, .failed, .removed], arguments, context)
        },
        RPCMethod("aria2.getGlobalStat") { context, _ async throws(ControlError) in
            let counts = context.service.counts
            let stopped = counts.finished + counts.failed + counts.removed
            return [
                "downloadSpeed": Aria2Status.number(counts.rate),
                // aria2 has no other state for transfers that wait between attempts.
                "numActive": Self.number(counts.started),
                "numStopped": Self.number(stopped),
                "numStoppedTotal": Self.number(max(stopped, counts.endedInAll)),
                "numWaiting": Self.number(counts.waiting + counts.paused), "uploadSpeed": "0",
            ]
        },
    ]

    private static func number(_ value: Int) -> JSON { Aria2Status.number(Int64(value)) }

    private static func tell(
        _ states: Set<TransferRecord.State>,
        _ arguments: RPCArguments,
        _ context: RPCContext
    ) async throws(ControlError) -> JSON {
        let offset = try arguments.integer(0)
        let count = try arguments.integer(1, atLeast: 0)
        return try await self.tell(states, Int(clamping: offset), count, try arguments.keys(2), context)
    }

    private static func tell(
        _ states: Set<TransferRecord.State>,
        _ offset: Int,
        _ count: Int,
        _ keys: Set<String>?,
        _ context: RPCContext
    ) async throws(ControlError) -> JSON {
        let limit = min(count, context.configuration.limits.page)
        guard limit > 0 else { return [] }
        let query = ListQuery(states: states, session: .some(nil), offset: offset, limit: limit)
        return .array(try await context.service.list(query).map { Aria2Status(record: $0).json(keys) })
    }

    @Sendable
    private static func getServers(_ context: RPCContext, _ arguments: RPCArguments) async throws(ControlError) -> JSON
    {
        let record = try await context.record(try arguments.string(0))
        guard record.state.isStarted else {
            throw ControlError(.wrongState, "No active download for GID#\(record.id)")
        }
        let servers: [JSON] = record.urls.prefix(1)
            .map { url in
                [
                    "currentUri": .string(url), "downloadSpeed": Aria2Status.number(record.rate), "uri": .string(url),
                ]
            }
        return [["index": "1", "servers": .array(servers)]]
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// aria2's methods that change transfers.
enum Aria2Changing {
    static let methods = [
        RPCMethod("aria2.remove", Self.remove),
        RPCMethod("aria2.forceRemove", Self.remove),
        RPCMethod("aria2.pause", Self.pause),
        RPCMethod("aria2.forcePause", Self.pause),
        RPCMethod("aria2.pauseAll") { context, _ async throws(ControlError) in
            try await Self.all(.pause, context)
        },
        RPCMethod("aria2.forcePauseAll") { context, _ async throws(ControlError) in
            try await Self.all(.pause, context)
        },
        RPCMethod("aria2.unpause") { context, arguments async throws(ControlError) in
            try await Self.one(.resume, context, arguments) { "GID#\($0) cannot be unpaused now" }
        },
        RPCMethod("aria2.unpauseAll") { context, _ async throws(ControlError) in
            try await Self.all(.resume, context)
        },
        RPCMethod("aria2.changePosition", Self.changePosition),
        RPCMethod("aria2.changeUri", Self.changeURI),
        RPCMethod("aria2.purgeDownloadResult") { context, _ async throws(ControlError) in
            try await Self.all(.forget, context)
        },
        RPCMethod("aria2.removeDownloadResult") { context, arguments async throws(ControlError) in
            _ = try await context.perform(.forget, on: try arguments.string(0)) {
                "Could not remove download result of GID#\($0)"
            }
            return "OK"
        },
    ]

    private static func one(
        _ action: TransferAction,
        _ context: RPCContext,
        _ arguments: RPCArguments,
        cannot: (GID) -> String
    ) async throws(ControlError) -> JSON {
        .string(try await context.perform(action, on: try arguments.string(0), cannot: cannot).description)
    }

    private static func all(_ action: TransferAction, _ context: RPCContext) async throws(ControlError) -> JSON {
        try await context.service.perform(action, on: .all(session: nil))
        return "OK"
    }

    @Sendable
    private static func remove(_ context: RPCContext, _ arguments: RPCArguments) async throws(ControlError) -> JSON {
        try await Self.one(.remove(deletesPartial: false), context, arguments) {
            "Active Download not found for GID#\($0)"
        }
    }

    @Sendable
    private static func pause(_ context: RPCContext, _ arguments: RPCArguments) async throws(ControlError) -> JSON {
        try await Self.one(.pause, context, arguments) { "GID#\($0) cannot be paused now" }
    }

    @Sendable
    private static func changePosition(
        _ context: RPCContext,
        _ arguments: RPCArguments
    ) async throws(ControlError) -> JSON {
        let text = try arguments.string(0)
        let offset = try arguments.integer(1)
        guard let origin = MoveOrigin(rawValue: try arguments.string(2)) else {
            throw ControlError(.badParameter, "Illegal argument.", remedy: "give POS_SET, POS_CUR or POS_END")
        }
        let gid = try await context.gid(text)
        // Beyond the length of any queue, and small enough for additions without overflow.
        let by = Int(max(-(1 << 40), min(1 << 40, offset)))
        do throws(ControlError) {
            return .integer(Int64(try await context.service.move(gid, by: by, from: origin)))
        } catch {
            guard error.code == .wrongState else { throw error }
            throw ControlError(.wrongState, "GID#\(gid) not found in the waiting queue.")
        }
    }

    @Sendable
    private static func changeURI(_ context: RPCContext, _ arguments: RPCArguments) async throws(ControlError) -> JSON {
        let text = try arguments.string(0)
        let index = try arguments.integer(1, atLeast: 1)
        let removed = try arguments.array(2).compactMap(\.string)
        let added = try Aria2Adding.checked(try arguments.array(3).compactMap(\.string))
        let place = try arguments.optionalInteger(4)
        let record = try await context.record(text)
        guard !record.state.isEnd else {
            throw ControlError(.wrongState, "Cannot remove URIs from GID#\(record.id)")
        }
        guard index == 1 else { throw ControlError(.badParameter, "fileIndex is out of range") }
        var urls = record.urls
        var count = 0
        for url in removed {
            guard let found = urls.firstIndex(of: url) else { continue }
            urls.remove(at: found)
            count += 1
        }
        urls.insert(contentsOf: added, at: place.map { max(0, min(urls.count, Int(clamping: $0))) } ?? urls.count)
        guard !urls.isEmpty else {
            throw ControlError(
                .badParameter,
                "GID#\(record.id) would be left without any URI",
                remedy: "add a URI in the same call"
            )
        }
        if urls != record.urls {
            var options = TransferOptions()
            if !added.isEmpty { context.denyAddresses(&options, changing: record.options) }
            try await context.service.replaceURLs(record.id, with: urls, options)
        }
        return [.integer(Int64(count)), .integer(Int64(added.count))]
    }
}

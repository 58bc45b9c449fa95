// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// Martlet's own methods for background sessions; all but the list require the Unix socket.
enum OwnSessions {
    static let methods = [
        RPCMethod("martlet.sessions") { context, _ async throws(ControlError) in
            .array(
                try await context.service.sessions()
                    .map { session in
                        [
                            "identifier": .string(session.identifier),
                            "unfinished": .integer(Int64(session.unfinished)),
                            "unacknowledged": .integer(Int64(session.unacknowledged)),
                            "program": .optional(session.program),
                            "wake": session.wake?.json ?? .null,
                        ]
                    }
            )
        },
        RPCMethod("martlet.openSession") { context, arguments async throws(ControlError) in
            try context.requireLocal("opening a background session")
            let opening = try await context.service.openSession(
                try arguments.sessionName(),
                instance: try arguments.string(named: "instance"),
                program: try arguments.optionalString(named: "program") ?? "",
                configuration: try arguments.optionalObject(named: "configuration") ?? .object([])
            )
            return [
                "transfers": .array(opening.transfers.map(\.json)), "acknowledged": .integer(opening.acknowledged),
                "last": .integer(opening.last),
            ]
        },
        RPCMethod("martlet.acknowledge") { context, arguments async throws(ControlError) in
            try context.requireLocal("acknowledging a session's events")
            try await context.service.acknowledge(
                try arguments.sessionName(),
                upTo: try arguments.integer(named: "upTo")
            )
            return .object([])
        },
        RPCMethod("martlet.finishEvents") { context, arguments async throws(ControlError) in
            try context.requireLocal("acknowledging a session's events")
            try await context.service.finishEvents(
                try arguments.sessionName(),
                upTo: try arguments.integer(named: "upTo"),
                acknowledging: try arguments.optionalInteger(named: "acknowledged") ?? 0
            )
            return .object([])
        },
        RPCMethod("martlet.closeSession") { context, arguments async throws(ControlError) in
            try context.requireLocal("closing a background session")
            try await context.service.closeSession(
                try arguments.sessionName(),
                instance: try arguments.string(named: "instance"),
                keepsTransfers: try arguments.flag(named: "keepTransfers", default: true)
            )
            return .object([])
        },
    ]
}

extension WakeSummary {
    /// The state in the form of `martlet.sessions`.
    fileprivate var json: JSON {
        [
            "state": .string(self.state.rawValue), "failures": .integer(Int64(self.failures)),
            "problem": .optional(self.problem),
        ]
    }
}

extension RPCArguments {
    /// The session's identifier.
    fileprivate func sessionName() throws(ControlError) -> String {
        let name = try self.string(named: "identifier")
        guard (1...255).contains(name.utf8.count) else {
            throw ControlError(.badParameter, "\"identifier\" is empty or too long", remedy: "give 1 to 255 bytes")
        }
        return name
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Platform
internal import TransferCore

/// Martlet's own methods for the daemon itself.
enum OwnDaemon {
    /// The version of the protocol.
    static let protocolVersion: Int64 = 1

    static let methods = [
        RPCMethod("martlet.daemon") { context, _ async throws(ControlError) in
            let configuration = context.configuration
            return [
                "version": .string(MartletVersion.text), "protocol": .integer(Self.protocolVersion),
                "pid": .integer(Int64(getpid())), "stateDirectory": .string(configuration.stateDirectory),
                "dir": .string(context.directory),
                "listen": .optional(configuration.listen.map { "\($0)" }),
                "started": .number(configuration.started),
            ]
        },
        RPCMethod("martlet.stop") { context, arguments async throws(ControlError) in
            context.service.stop(isForced: try arguments.flag(named: "force", default: false))
            return .object([])
        },
    ]
}

// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Platform
internal import TransferCore

/// Martlet's own methods for the daemon itself.
enum OwnDaemon {
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
        RPCMethod("martlet.pageTicket") { context, _ async throws(ControlError) in
            try context.requireLocal("opening the page")
            guard let link = context.page?.link() else {
                throw ControlError(
                    .wrongState,
                    "the page is not available: the daemon does not listen on TCP",
                    remedy:
                        "stop the daemon, and start it with martlet daemon --listen 127.0.0.1:6800, or another free port"
                )
            }
            return ["url": .string(link), "expires": .integer(Int64(TicketBook.lifetime))]
        },
        RPCMethod("martlet.stop") { context, arguments async throws(ControlError) in
            context.service.stop(isForced: try arguments.flag(named: "force", default: false))
            return .object([])
        },
    ]
}

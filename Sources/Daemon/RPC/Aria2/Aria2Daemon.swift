// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

/// aria2's methods for the program itself.
enum Aria2Daemon {
    static let methods = [
        RPCMethod("aria2.getVersion") { _, _ async throws(ControlError) in
            [
                "version": .string(MartletVersion.text),
                "enabledFeatures": ["Async DNS", "Firefox3 Cookie", "HTTPS", "Message Digest", "XML-RPC"],
            ]
        },
        RPCMethod("aria2.getSessionInfo") { context, _ async throws(ControlError) in
            ["sessionId": .string(context.configuration.sessionID)]
        },
        RPCMethod("aria2.shutdown") { context, _ async throws(ControlError) in
            context.service.stop(isForced: false)
            return "OK"
        },
        RPCMethod("aria2.forceShutdown") { context, _ async throws(ControlError) in
            context.service.stop(isForced: true)
            return "OK"
        },
        RPCMethod("aria2.saveSession") { context, _ async throws(ControlError) in
            try await context.service.save()
            return "OK"
        },
    ]
}

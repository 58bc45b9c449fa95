// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// The `system` methods: introspection and multicalls.
enum SystemMethods {
    /// The name of the method that makes several calls; the dispatcher performs it.
    static let multicall = "system.multicall"

    static let methods = [
        RPCMethod(Self.multicall, isOpen: true) { _, _ async throws(ControlError) in
            throw ControlError(.badParameter, "Recursive system.multicall forbidden.")
        },
        RPCMethod("system.listMethods", isOpen: true) { context, _ async throws(ControlError) in
            .array(context.methods.all.map { .string($0.name) })
        },
        RPCMethod("system.listNotifications", isOpen: true) { _, _ async throws(ControlError) in
            .array(Aria2Notification.allCases.map { .string($0.rawValue) })
        },
    ]
}

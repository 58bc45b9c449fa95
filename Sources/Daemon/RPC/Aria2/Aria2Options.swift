// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// aria2's methods for options.
enum Aria2Options {
    static let methods = [
        RPCMethod("aria2.getOption") { context, arguments async throws(ControlError) in
            let record = try await context.record(try arguments.string(0))
            return OptionDefaults.aria2(
                of: record.options,
                global: context.service.globalOptions,
                directory: record.directory
            )
        },
        RPCMethod("aria2.changeOption") { context, arguments async throws(ControlError) in
            let text = try arguments.string(0)
            let options = try TransferOptions(checking: try arguments.options(1))
            let record = try await context.record(text)
            guard !record.state.isEnd else {
                throw ControlError(.wrongState, "Cannot change option for GID#\(record.id)")
            }
            try await Self.change(record, options, context)
            return "OK"
        },
        RPCMethod("aria2.getGlobalOption") { context, _ async throws(ControlError) in
            OptionDefaults.aria2(
                global: context.service.globalOptions,
                directory: context.directory,
                port: context.configuration.listen?.port
            )
        },
        RPCMethod("aria2.changeGlobalOption") { context, arguments async throws(ControlError) in
            try await Self.changeGlobal(try arguments.options(0), context)
            return "OK"
        },
    ]

    /// Changes one transfer's options.
    static func change(
        _ record: TransferRecord,
        _ options: TransferOptions,
        _ context: RPCContext
    ) async throws(ControlError) {
        var options = try context.confine(options, directory: record.directory)
        for name in [OptionName.gid, .pause, .position] { options[name] = nil }
        for name in OptionDefaults.queueNames { options[name] = nil }
        guard !options.isEmpty else { return }
        if options.names.contains(where: { $0.choosesAddress }) {
            context.denyAddresses(&options, changing: record.options)
        }
        try await context.service.changeOptions(record.id, options)
    }

    /// Changes the global options; options that only apply to one transfer are ignored, as in aria2.
    static func changeGlobal(_ json: JSON, _ context: RPCContext) async throws(ControlError) {
        try Aria2OptionTable.checkGlobal(json)
        var options = try TransferOptions(checking: json)
        for name in [OptionName.gid, .pause, .position, .out, .checksum, .description, .userInfo] {
            options[name] = nil
        }
        options = try context.confine(options, directory: context.directory)
        // A network caller's own transfers are denied addresses anyway.
        if !context.caller.isLocal { options[.deniedAddresses] = nil }
        guard !options.isEmpty else { return }
        try await context.service.changeGlobalOptions(options)
    }
}

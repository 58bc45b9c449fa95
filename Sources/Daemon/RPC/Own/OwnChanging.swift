// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// Martlet's own methods that change transfers.
enum OwnChanging {
    static let methods = [
        RPCMethod("martlet.pause") { context, arguments async throws(ControlError) in
            try await context.change(.pause, arguments)
        },
        RPCMethod("martlet.resume") { context, arguments async throws(ControlError) in
            try await context.change(.resume, arguments)
        },
        RPCMethod("martlet.retry") { context, arguments async throws(ControlError) in
            try await context.change(.retry, arguments)
        },
        RPCMethod("martlet.remove") { context, arguments async throws(ControlError) in
            let deletes = try arguments.flag(named: "deletePartial", default: false)
            return try await context.change(.remove(deletesPartial: deletes), arguments)
        },
        RPCMethod("martlet.forget") { context, arguments async throws(ControlError) in
            try await context.change(.forget, arguments)
        },
        RPCMethod("martlet.setPriority") { context, arguments async throws(ControlError) in
            let priority = try arguments.integer(named: "priority")
            guard (-1_000_000...1_000_000).contains(priority) else {
                throw ControlError(
                    .badParameter,
                    "\"priority\" is \(priority)",
                    remedy: "give a whole number from -1000000 to 1000000"
                )
            }
            return try await context.change(.setPriority(Int(priority)), arguments)
        },
        RPCMethod("martlet.move") { context, arguments async throws(ControlError) in
            let text = try arguments.string(named: "how")
            guard let origin = MoveOrigin(rawValue: text) else {
                throw ControlError(
                    .badParameter,
                    "\"how\" is \"\(text.prefix(64))\"",
                    remedy: "give POS_SET, POS_CUR or POS_END"
                )
            }
            let offset = try arguments.integer(named: "position")
            let id = try await context.ownID(try arguments.string(named: "id"))
            let by = Int(max(-(1 << 40), min(1 << 40, offset)))
            return ["position": .integer(Int64(try await context.service.move(id, by: by, from: origin)))]
        },
        RPCMethod("martlet.setOptions") { context, arguments async throws(ControlError) in
            guard let json = try arguments.optionalObject(named: "options") else {
                throw ControlError(.badParameter, "\"options\" is missing", remedy: "give an object")
            }
            let options = try TransferOptions(checking: json)
            let id = try await context.ownID(try arguments.string(named: "id"))
            try await Aria2Options.change(try await context.service.record(id, withPosition: false), options, context)
            return .object([])
        },
        RPCMethod("martlet.replaceURI") { context, arguments async throws(ControlError) in
            let urls = try Aria2Adding.checked(try arguments.strings(named: "urls"))
            guard !urls.isEmpty else {
                throw ControlError(.badParameter, "\"urls\" is empty", remedy: "give at least one URL")
            }
            let id = try await context.ownID(try arguments.string(named: "id"))
            var options = TransferOptions()
            context.denyAddresses(&options, changing: try await context.service.record(id, withPosition: false).options)
            try await context.service.replaceURLs(id, with: urls, options)
            return .object([])
        },
    ]
}

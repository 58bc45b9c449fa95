// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

extension RPCContext {
    /// Returns the identifiers of the transfers that the texts name.
    func ids(_ texts: [String]) async throws(ControlError) -> [GID] {
        var ids: [GID] = []
        ids.reserveCapacity(texts.count)
        for text in texts { ids.append(try await self.ownID(text)) }
        return ids
    }

    /// Returns the identifier that a text names: a whole identifier, or an unambiguous prefix.
    func ownID(_ text: String) async throws(ControlError) -> GID {
        if let id = GID(text) { return id }
        guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ $0.isHexadecimal }) else {
            throw ControlError(
                .badParameter,
                "\"\(text.prefix(64))\" is not an identifier",
                remedy: "give 1 to 16 hexadecimal digits"
            )
        }
        return try await self.service.resolve(text.lowercased())
    }

    /// Parses a selection: `ids`, or `all` with or without a `session`.
    func selection(_ arguments: RPCArguments) async throws(ControlError) -> TransferSelection {
        let session = try arguments.optionalString(named: "session")
        if let texts = try arguments.optionalStrings(named: "ids") {
            guard !arguments.has("all") else {
                throw ControlError(.badParameter, "both \"ids\" and \"all\" are given", remedy: "give one of them")
            }
            return .ids(try await self.ids(texts))
        }
        guard try arguments.flag(named: "all", default: false) else {
            throw ControlError(.badParameter, "no transfer is named", remedy: "give \"ids\", or \"all\": true")
        }
        return .all(session: session)
    }

    /// Performs an action on the selection in the arguments, and returns the number of changed transfers.
    func change(_ action: TransferAction, _ arguments: RPCArguments) async throws(ControlError) -> JSON {
        let selection = try await self.selection(arguments)
        return ["changed": .integer(Int64(try await self.service.perform(action, on: selection)))]
    }
}

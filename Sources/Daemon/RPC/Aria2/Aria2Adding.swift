// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

/// aria2's methods that add transfers.
enum Aria2Adding {
    static let methods = [
        RPCMethod("aria2.addUri", adding: Self.placed),
        RPCMethod("aria2.addTorrent") { _, _ async throws(ControlError) in throw Self.unsupported("BitTorrent") },
        RPCMethod("aria2.addMetalink") { _, _ async throws(ControlError) in throw Self.unsupported("Metalink") },
    ]

    private static func unsupported(_ what: String) -> ControlError {
        ControlError(
            .badParameter,
            "\(what) is not supported by this daemon",
            remedy: "add HTTP URLs with aria2.addUri"
        )
    }

    /// Returns the transfer that the arguments of `aria2.addUri` describe.
    @Sendable
    private static func placed(
        _ context: RPCContext,
        _ arguments: RPCArguments
    ) throws(ControlError) -> PlacedTransfer {
        let urls = try arguments.array(0).compactMap(\.string)
        guard !urls.isEmpty else { throw ControlError(.badParameter, "URI is not provided.") }
        let json = try arguments.optionalOptions(1) ?? .object([])
        let position = try arguments.optionalInteger(2)
        if let position, position < 0 {
            throw ControlError(.badParameter, "Position must be greater than or equal to 0.")
        }
        var entry = NewTransfer(urls: try Self.checked(urls), options: try TransferOptions(checking: json))
        entry.takeMembers()
        if entry.options[.out] == nil, entry.options[.nameFrom] == nil { entry.options[.nameFrom] = "last" }
        entry.options = try context.confine(entry.options, directory: context.directory)
        context.denyAddresses(&entry.options)
        let place = entry.takePosition()
        return PlacedTransfer(entry, at: position.map { Int(clamping: $0) } ?? place)
    }

    /// Returns the URLs if all of them are valid.
    static func checked(_ urls: [String]) throws(ControlError) -> [String] {
        for url in urls {
            do throws(SyntaxError) {
                _ = try HTTPURL(url)
            } catch {
                throw ControlError(.badParameter, "No URI to download. \(error.message)")
            }
        }
        return urls
    }
}

extension NewTransfer {
    /// Moves the options `gid` and `pause` into members.
    mutating func takeMembers() {
        if let gid = self.options[.gid] { self.id = GID(gid) }
        if let pause = self.options[.pause] { self.isPaused = pause == "true" }
        self.options[.gid] = nil
        self.options[.pause] = nil
    }

    /// Removes the option `position` and returns its value.
    mutating func takePosition() -> Int? {
        defer { self.options[.position] = nil }
        return self.options[.position].flatMap { Int($0) }
    }
}

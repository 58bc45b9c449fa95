// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// Martlet's own methods that add transfers.
enum OwnAdding {
    static let methods = [RPCMethod("martlet.add", Self.add)]

    @Sendable
    private static func add(_ context: RPCContext, _ arguments: RPCArguments) async throws(ControlError) -> JSON {
        let entries = try arguments.objects(named: "entries")
        let position = try arguments.optionalInteger(named: "position")
        if let position, position < 0 {
            throw ControlError(.badParameter, "\"position\" is negative", remedy: "give 0 for the front of the queue")
        }
        let directory = context.directory
        var transfers: [NewTransfer] = []
        transfers.reserveCapacity(entries.count)
        var options = CheckedOptions()
        for (index, entry) in entries.enumerated() {
            do throws(ControlError) {
                transfers.append(try Self.transfer(RPCArguments(named: entry), directory, context, &options))
            } catch {
                throw ControlError(error.code, "entry \(index): \(error.message)", remedy: error.remedy)
            }
        }
        guard !transfers.isEmpty else { return [] }
        let gids = try await context.service.add(transfers, at: position.map { Int(clamping: $0) })
        return .array(gids.map { .string($0.description) })
    }

    /// Reads one entry of `martlet.add`; the service checks its URLs.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - directory: The directory of a file whose entry does not name one.
    ///   - context: The caller's permissions.
    ///   - checked: The options of the entry before.
    /// - Returns: The transfer to add.
    /// - Throws: `badParameter`, `forbidden`.
    static func transfer(
        _ entry: RPCArguments,
        _ directory: String,
        _ context: RPCContext,
        _ checked: inout CheckedOptions
    ) throws(ControlError) -> NewTransfer {
        let urls = try entry.strings(named: "urls")
        guard !urls.isEmpty else {
            throw ControlError(.badParameter, "\"urls\" is empty", remedy: "give at least one URL")
        }
        let json = try entry.optionalObject(named: "options") ?? .object([])
        var transfer = NewTransfer(urls: urls, options: try checked.options(json))
        transfer.takeMembers()
        _ = transfer.takePosition()
        if let text = try entry.optionalString(named: "id") {
            guard let id = GID(text) else {
                throw ControlError(.badParameter, "\"id\" is not an identifier", remedy: "give 16 hexadecimal digits")
            }
            transfer.id = id
        }
        transfer.isPaused = try entry.flag(named: "paused", default: transfer.isPaused)
        transfer.session = try entry.optionalString(named: "session")
        // A session belongs to a program on this machine.
        if transfer.session != nil { try context.requireLocal("adding to a background session") }
        transfer.options = try context.confine(transfer.options, directory: directory)
        context.denyAddresses(&transfer.options)
        if let json = try entry.optionalObject(named: "upload") {
            guard let upload = UploadSource(json: json) else {
                throw ControlError(
                    .badParameter,
                    "\"upload\" does not describe an upload",
                    remedy: "give \"file\" or \"parts\"; see martlet.add in Docs/rpc.md"
                )
            }
            try context.confine(upload)
            transfer.upload = upload
        }
        return transfer
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPTransport
internal import Logging
internal import Platform
internal import QueueStore
internal import TransferCore
internal import TransferEngine

/// The commands that programs left in their spools.
extension DaemonCore {
    /// Performs the commands that ended programs sent to the daemon and that the daemon had not acknowledged.
    ///
    /// Returns when the results are stored. A spool is deleted after that: if the daemon is killed before, performing
    /// its commands again changes nothing, because an `add` includes its identifier.
    func importSpools() async {
        let earlier = self.spoolImport
        let task = Task {
            await earlier?.value
            await self.performSpools()
        }
        self.spoolImport = task
        await task.value
        if self.spoolImport == task { self.spoolImport = nil }
    }

    private func performSpools() async {
        let directory = self.configuration.stateDirectory + "/spools"
        let (spools, problems) = await withCheckedContinuation { continuation in
            self.parts.pool.run {
                var problems: [String] = []
                let spools = OrphanedSpool.all(in: directory) { problems.append($0) }
                continuation.resume(returning: (spools, problems))
            }
        }
        for problem in problems where self.keptSpools.insert(problem).inserted {
            self.configuration.logger.warning("a session's spool: \(problem)")
        }
        for spool in spools where !self.isStopping { await self.perform(spool) }
    }

    private func perform(_ spool: OrphanedSpool) async {
        let contents = spool.contents
        if contents.unreadable > 0 {
            self.configuration.logger.warning(
                "\(contents.unreadable) lines of the spool '\(spool.name)' cannot be read and are skipped"
            )
        }
        if let opening = contents.opening, !contents.calls.isEmpty, let identifier = opening["identifier"]?.string {
            do throws(ControlError) {
                try await self.restoreSession(identifier, opening["configuration"] ?? .object([]))
            } catch {
                if Self.isPassing(error) { return self.keep(spool, error) }
                self.configuration.logger.error("the commands in the spool '\(spool.name)' are refused: \(error)")
                return spool.remove()
            }
            do throws(ControlError) {
                var rest = contents.calls[...]
                while let first = rest.first {
                    // Many additions in one transaction.
                    let adds = rest.prefix { $0.method == "martlet.add" }.prefix(Self.mostAdds)
                    if adds.isEmpty {
                        try await self.perform(first, identifier)
                    } else {
                        try await self.add(adds.flatMap { $0.parameters["entries"]?.array ?? [] }, identifier)
                    }
                    rest = rest.dropFirst(max(1, adds.count))
                }
            } catch {
                return self.keep(spool, error)
            }
            self.configuration.logger.info(
                "\(contents.calls.count) commands of a program that has ended were performed",
                metadata: ["session": "\(identifier)"]
            )
        }
        spool.remove()
    }

    /// Keeps a spool for a later attempt, and logs the first one.
    private func keep(_ spool: OrphanedSpool, _ error: ControlError) {
        guard self.keptSpools.insert(spool.name).inserted else { return }
        self.configuration.logger.error("the spool '\(spool.name)' is kept: \(error)")
    }

    /// Whether an error may be temporary; all other errors are refusals.
    private static func isPassing(_ error: ControlError) -> Bool {
        [.diskFull, .storage, .stopping].contains(error.code)
    }

    /// The maximum number of transfers that are added in one transaction.
    private static let mostAdds = 1000

    private var localContext: RPCContext {
        RPCContext(
            service: self,
            configuration: ServerConfiguration(directory: self.configuration.directory),
            caller: Caller(isLocal: true, isAuthenticated: true),
            methods: .standard,
            subscription: nil
        )
    }

    /// Adds transfers; stores refused ones as failed.
    private func add(_ entries: [JSON], _ session: String) async throws(ControlError) {
        let context = self.localContext
        var (transfers, sources): ([PlacedTransfer], [JSON]) = ([], [])
        var options = CheckedOptions()
        for entry in entries {
            do throws(ControlError) {
                let transfer = try OwnAdding.transfer(RPCArguments(named: entry), context.directory, context, &options)
                transfers.append(PlacedTransfer(transfer))
                sources.append(entry)
            } catch {
                try await self.refused(entry, session, error)
            }
        }
        for (entry, result) in zip(sources, await self.addEach(transfers)) {
            guard case .failure(let error) = result else { continue }
            if Self.isPassing(error) { throw error }
            // It was added before the daemon was killed or the connection was lost.
            if error.code != .duplicate { try await self.refused(entry, session, error) }
        }
    }

    private func perform(_ call: SpooledCall, _ session: String) async throws(ControlError) {
        guard call.method != "martlet.openSession" else {
            return try await self.restoreSession(
                session,
                call.parameters["configuration"] ?? .object([]),
                replacing: true
            )
        }
        guard let method = RPCMethods.standard[call.method], Self.spooledMethods.contains(call.method) else {
            return self.configuration.logger.warning("a spool has the unknown call \(call.method.prefix(64))")
        }
        do throws(ControlError) {
            _ = try await method.handler(self.localContext, RPCArguments(named: call.parameters))
        } catch {
            if Self.isPassing(error) { throw error }
            // Usually the call was performed before, or the transfer has ended since.
            self.configuration.logger.debug(
                "a call of a spool is refused: \(error)",
                metadata: ["method": "\(method.name)"]
            )
        }
    }

    private static let spooledMethods: Set<String> = [
        "martlet.pause", "martlet.resume", "martlet.remove", "martlet.setPriority", "martlet.setOptions",
        "martlet.finishEvents",
    ]

    /// Stores a transfer that cannot be added as a failed one, so that the next run of the program finds out.
    private func refused(_ entry: JSON, _ session: String, _ error: ControlError) async throws(ControlError) {
        guard let id = entry["id"]?.string.flatMap({ GID($0) }) else { return }
        let files = entry["upload"].flatMap { UploadSource(json: $0) }?.files ?? []
        let isUnreadable = files.contains { FileCalls.access($0, R_OK) != 0 }
        let failure = TransferRecord.Failure(
            isUnreadable ? .cannotOpen : .badOption,
            error.message,
            remedy: error.remedy
        )
        let now = self.now
        var transfer = StoredTransfer(
            id: id,
            session: session,
            state: .waiting,
            urls: (entry["urls"]?.array ?? []).compactMap(\.string),
            options: TransferOptions(json: entry["options"] ?? .null),
            directory: entry["options"]?["dir"]?.string ?? self.configuration.directory,
            added: now
        )
        transfer.upload = entry["upload"].flatMap { UploadSource(json: $0) }
        let stored = transfer
        let event: JSON = [
            "kind": "failed", "id": .string(id.description), "error": failure.json, "path": .null,
        ]
        try await self.change(
            { (writer) throws(QueueStoreError) in
                try writer.add([stored], at: nil)
                try writer.end([
                    StoredEnd(id: id, state: .failed, path: nil, bytes: 0, total: nil, failure: failure, at: now)
                ])
                return try writer.appendEvent(session: session, transfer: id, json: event.text)
            },
            touching: { _ in [session] },
            then: { core, number in core.stored(session, number) }
        )
    }
}

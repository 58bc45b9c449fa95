// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform

/// Adds the transfers of a plan in batches, so that a list of any length needs little memory.
struct AddRun {
    /// The maximum number of transfers in a batch.
    static let batch = 500

    private let plan: AddPlan
    private let access: AddAccess
    private let client: ControlClient
    private let console: Console
    private var pending: [NewTransfer] = []
    private var position: Int?
    private var faults = 0
    private var added: [GID] = []

    init(_ plan: AddPlan, _ access: AddAccess, _ client: ControlClient, _ console: Console) {
        self.plan = plan
        self.access = access
        self.client = client
        self.console = console
        self.position = plan.position
    }

    /// Adds all transfers.
    ///
    /// - Returns: The exit status.
    mutating func execute() async throws -> Int32 {
        for transfer in self.plan.transfers { try await self.add(transfer) }
        if let path = self.plan.inputFile { try await self.addAll(of: path) }
        try await self.flush()
        let status = self.faults > 0 ? ExitStatus.usage : ExitStatus.success
        guard self.plan.waits, !self.added.isEmpty else { return status }
        let ended = try await WaitRun(self.client, self.console, isQuiet: self.plan.isQuiet).wait(for: self.added)
        return ExitOrder.status(of: [status, ended])
    }

    private mutating func addAll(of path: String) async throws {
        let isStandardInput = path == "-"
        let shown = isStandardInput ? "standard input" : path
        let descriptor = isStandardInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw SyntaxError("\(shown) cannot be opened: \(String(cString: strerror(errno))); check --input-file")
        }
        var reader = LineReader(descriptor: descriptor, closes: !isStandardInput)
        if let sending = self.plan.sending { return try await self.addUploads(&reader, shown, sending) }
        var parser = InputFileParser(for: self.plan.reader)
        while let line = try reader.next() {
            for event in parser.take(line) { try await self.take(event, shown) }
        }
        for event in parser.finish() { try await self.take(event, shown) }
    }

    private mutating func addUploads(
        _ reader: inout LineReader,
        _ file: String,
        _ sending: AddPlan.Sending
    ) async throws {
        var number = 0
        while let line = try reader.next() {
            number += 1
            if case .text(let bytes) = line, bytes.isEmpty { continue }
            let upload: NewTransfer
            do throws(SyntaxError) {
                guard case .text(let bytes) = line else { throw SyntaxError("the line is too long") }
                upload = try self.plan.upload(listed: String(decoding: bytes, as: UTF8.self), sending)
            } catch {
                self.faults += 1
                self.console.tell("martlet: \(file):\(number): \(error.description)")
                continue
            }
            try await self.add(upload)
        }
    }

    private mutating func take(_ event: InputFileParser.Event, _ file: String) async throws {
        switch event {
        case .entry(let entry): try await self.add(self.plan.transfer(entry))
        case .warning(let line, let text): self.console.tell("warning: \(file):\(line): \(text)")
        case .fault(let fault):
            self.faults += 1
            self.console.tell("martlet: \(file):\(fault.line): \(fault.message)")
        }
    }

    private mutating func add(_ transfer: NewTransfer) async throws {
        var transfer = transfer
        try self.access.apply(to: &transfer)
        self.pending.append(transfer)
        if self.pending.count >= Self.batch { try await self.flush() }
    }

    private mutating func flush() async throws {
        guard !self.pending.isEmpty else { return }
        let entries = self.pending
        self.pending = []
        let ids = try await self.sendAll(entries)
        if self.plan.waits { self.added += ids }
        if let position = self.position { self.position = position + ids.count }
        if self.plan.isQuiet { return }
        if self.plan.printsJSON {
            self.console.print(try await self.client.show(ids.map(\.description)).map(\.json.text))
        } else if self.console.isOutputTerminal {
            self.console.print(await self.lines(ids))
        } else {
            self.console.print(ids.map(\.description))
        }
    }

    /// Sends a batch; without the entries whose ids, given in the list, the daemon has already.
    private mutating func sendAll(_ entries: [NewTransfer]) async throws(ControlError) -> [GID] {
        do throws(ControlError) {
            return try await self.send(entries)
        } catch {
            guard error.code == .duplicate, self.plan.inputFile != nil else { throw error }
        }
        var ids: [GID] = []
        for entry in entries {
            do throws(ControlError) {
                ids += try await self.client.add([entry], at: self.position.map { $0 + ids.count })
            } catch {
                guard error.code == .duplicate else { throw error }
                self.faults += 1
                let id = entry.id?.description ?? ""
                self.console.tell("martlet: the id \(id) is in the queue already, so this file is not added again")
            }
        }
        return ids
    }

    /// The lines for a person: each id with the path of its file, as far as it is known.
    private func lines(_ ids: [GID]) async -> [String] {
        // They are stored: if the daemon has just stopped, their ids are printed nevertheless.
        let records = (try? await self.client.show(ids.map(\.description))) ?? []
        let paths = Dictionary(records.map { ($0.id, TransferTable.path(of: $0)) }) { first, _ in first }
        return ids.map { id in
            paths[id].map { "\(id)  " + DisplayText.clean($0, asciiOnly: !Terminal.isUnicode) } ?? "\(id)"
        }
    }

    /// Sends a batch, and repeats it once if the connection was lost before the response.
    ///
    /// The ids are chosen by this client: if the daemon reports them as duplicates, it had stored the batch.
    private func send(_ entries: [NewTransfer]) async throws(ControlError) -> [GID] {
        do throws(ControlError) {
            return try await self.client.add(entries, at: self.position)
        } catch {
            guard error.code == .unreachable else { throw error }
        }
        do throws(ControlError) {
            return try await self.client.add(entries, at: self.position)
        } catch {
            guard error.code == .duplicate else { throw error }
            return entries.compactMap(\.id)
        }
    }
}

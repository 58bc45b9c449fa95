// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Synchronization
import TransferCore
import TransferEngine

/// Adds the files of `aria2c` to the engine, and knows which of them have not finished.
final class Aria2Feed: Sendable {
    private let plan: Aria2Plan
    private let cookies = CookieFiles()
    private let session: Aria2Session?

    /// Creates a feed.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - session: The record of unfinished files, or `nil`.
    init(_ plan: Aria2Plan, session: Aria2Session?) {
        self.plan = plan
        self.session = session
    }

    /// Adds all files and closes the engine.
    func feed(_ feeder: Feeder, _ plan: GetPlan) {
        self.session?.begin()
        for warning in self.plan.warnings { feeder.warn(warning) }
        switch self.plan.sources {
        case .entries(let entries):
            for entry in entries { self.add(entry, feeder, plan, file: "") }
        case .file(let path):
            var parser = InputFileParser(for: .aria2c)
            feeder.read(path) { line, shown in
                for event in line.map({ parser.take($0) }) ?? parser.finish() {
                    self.take(event, feeder, plan, file: shown)
                }
                // A list that another program writes may never end.
                return feeder.ready() || (self.session != nil && path != "-")
            }
        }
        feeder.endSending()
        self.session?.listEnded()
    }

    private func take(_ event: InputFileParser.Event, _ feeder: Feeder, _ plan: GetPlan, file: String) {
        switch event {
        case .entry(let entry): self.add(entry, feeder, plan, file: file)
        case .fault(let fault): if feeder.ready() { feeder.refuse(fault, file: file) }
        case .warning(let line, let text): feeder.warn("\(file):\(line): \(text)")
        }
    }

    private func add(_ entry: InputEntry, _ feeder: Feeder, _ plan: GetPlan, file: String) {
        do throws(SyntaxError) {
            let (request, id) = try self.plan.request(entry, plan.options, self.cookies)
            self.session?.add(self.plan.transfer(entry, id), in: request.directory ?? plan.options.directory)
            guard feeder.ready() else { return }
            feeder.add(request, line: entry.line > 0 ? entry.line : nil, file: file)
        } catch {
            let url = entry.urls.first?.redacted ?? ""
            feeder.refuse(InputFault(line: entry.line, message: error.description, url: url), file: file)
        }
    }
}

extension Aria2Plan {
    /// The transfer of a file, for a session file.
    func transfer(_ entry: InputEntry, _ id: GID) -> NewTransfer {
        var entry = entry
        entry.options[.gid] = id.description
        return AddPlan(options: self.options).transfer(entry)
    }
}

/// The files of a run that have not finished, for `--save-session`.
final class Aria2Session: Sendable {
    private struct State {
        var transfers: [GID: (number: Int, transfer: NewTransfer, directory: String)] = [:]
        var count = 0
        var hasBegun = false
        var isListed = false
    }

    private let state = Mutex(State())
    private let listed: WakeUp

    /// Creates a record without files.
    ///
    /// - Throws: ``SyntaxError`` if no descriptor is free.
    init() throws(SyntaxError) { self.listed = try WakeUp() }

    /// Adds a file.
    func add(_ transfer: NewTransfer, in directory: String) {
        guard let id = transfer.id else { return }
        self.state.withLock { state in
            state.transfers[id] = (state.count, transfer, directory)
            state.count += 1
        }
    }

    /// Removes a file that has finished.
    func finished(_ id: GID) { self.state.withLock { $0.transfers[id] = nil } }

    /// Notes that the list is being read.
    func begin() { self.state.withLock { $0.hasBegun = true } }

    /// Whether the run has started: without that the file of an earlier run is kept.
    var hasBegun: Bool { self.state.withLock { $0.hasBegun } }

    /// Notes that the list has been read to its end.
    func listEnded() {
        self.state.withLock { $0.isListed = true }
        self.listed.wake()
    }

    /// The unfinished files in the order of the list; waits until it has been read.
    var unfinished: [(transfer: NewTransfer, directory: String)] {
        while !self.state.withLock({ $0.isListed }) { self.listed.wait(milliseconds: 500) }
        return self.state.withLock { state in
            state.transfers.values.sorted { $0.number < $1.number }.map { ($0.transfer, $0.directory) }
        }
    }
}

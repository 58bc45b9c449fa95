// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TransferCore
import TransferEngine

/// Queues the engine's events for the thread that prints them.
///
/// The engine's thread updates the model and returns; it never waits for a terminal or a pipe. The queue is bounded:
/// progress is coalesced to the latest event per running file, details beyond a limit are dropped and counted, and the
/// feeder waits while ``backlog`` is long, which bounds the number of final events.
final class EventMailbox: Sendable {
    /// An event with the model's data about its file.
    struct Report: Sendable {
        /// The event from the engine.
        var event: TransferEvent
        /// The file's name, cleaned for display.
        var name: String
        /// The file's path; empty if unknown, and for a stream.
        var path: String
        /// The line in the input file, for an entry that did not become a transfer.
        var line: Int?
    }

    /// The events that are printed together.
    struct Batch: Sendable {
        /// The events in order.
        var reports: [Report]
        /// The state of the run after these events.
        var model: RunModel
    }

    private struct State {
        var model = RunModel()
        var reports: [Report] = []
        var progressed: [TransferID: Report] = [:]
        var missed = 0
    }

    /// The number of unprinted events above which details are dropped.
    static let detailLimit = 4096

    private let state: Mutex<State>
    private let wantsProgress: Bool
    private let wantsDetails: Bool
    private let wantsSuccesses: Bool
    private let wantsFailures: Bool
    private let wake: @Sendable () -> Void

    /// Creates an empty mailbox.
    ///
    /// - Parameters:
    ///   - asciiOnly: Whether names are reduced to ASCII.
    ///   - wantsProgress: Whether progress is reported event by event, as `--json` does.
    ///   - wantsDetails: Whether starts, responses, retries and notes are reported.
    ///   - wantsSuccesses: Whether finished files are reported.
    ///   - wantsFailures: Whether failed files are reported.
    ///   - wake: Called when many events are queued.
    init(
        asciiOnly: Bool,
        wantsProgress: Bool,
        wantsDetails: Bool,
        wantsSuccesses: Bool = true,
        wantsFailures: Bool = true,
        wake: @escaping @Sendable () -> Void
    ) {
        var state = State()
        state.model.asciiOnly = asciiOnly
        self.state = Mutex(state)
        self.wantsProgress = wantsProgress
        self.wantsDetails = wantsDetails
        self.wantsSuccesses = wantsSuccesses
        self.wantsFailures = wantsFailures
        self.wake = wake
    }

    /// The number of unprinted events.
    var backlog: Int { self.state.withLock { $0.reports.count } }

    /// The current state of the run.
    var model: RunModel { self.state.withLock { $0.model } }

    /// Queues an event of the engine.
    func take(_ event: TransferEvent) {
        let count = self.state.withLock { state in
            let row = state.model.apply(event)
            let kind = event.kind
            guard self.keeps(kind) else { return 0 }
            var path = row?.path ?? ""
            if case .finished(let completion) = kind { path = completion.path }
            let name =
                path.isEmpty
                ? row?.name ?? DisplayText.clean(event.url, asciiOnly: state.model.asciiOnly)
                : DisplayText.clean(path, asciiOnly: state.model.asciiOnly)
            self.keep(Report(event: event, name: name, path: path), in: &state)
            return state.reports.count
        }
        if count == 512 { self.wake() }
    }

    /// Queues the failure of an input file's entry.
    func take(_ fault: InputFault, file: String, code: TransferFailure.Code = .badOption) {
        let failure = TransferFailure(code, fault.message)
        let name =
            fault.line > 0
            ? DisplayText.clean("\(file):\(fault.line)") : DisplayText.clean(file.isEmpty ? fault.url : file)
        self.state.withLock { state in
            state.model.fail(name, failure)
            // Without a line, it is not the failure of a row.
            guard self.wantsFailures || fault.line == 0 else { return }
            let event = TransferEvent(id: nil, url: fault.url, userInfo: nil, kind: .failed(failure))
            state.reports.append(Report(event: event, name: name, path: "", line: fault.line > 0 ? fault.line : nil))
        }
    }

    /// Queues a failure that belongs to no transfer, such as that of a list.
    func take(_ failure: TransferFailure, name: String) {
        let event = TransferEvent(id: nil, url: "", userInfo: nil, kind: .failed(failure))
        let name = DisplayText.clean(name)
        self.state.withLock { state in
            state.model.fail(name, failure)
            state.reports.append(Report(event: event, name: name, path: ""))
        }
    }

    /// Queues a warning that belongs to no transfer; it is printed even without details.
    func take(warning: String) {
        let event = TransferEvent(id: nil, url: "", userInfo: nil, kind: .note(warning))
        self.state.withLock { $0.reports.append(Report(event: event, name: "", path: "")) }
    }

    /// Removes and returns all queued events.
    func drain() -> Batch {
        self.state.withLock { state in
            var reports = state.reports
            state.reports = []
            if state.missed > 0 {
                let event = TransferEvent(id: nil, url: "", userInfo: nil, kind: .missed(state.missed))
                reports.append(Report(event: event, name: "", path: ""))
                state.missed = 0
            }
            reports += state.progressed.values.sorted { ($0.event.id?.rawValue ?? 0) < ($1.event.id?.rawValue ?? 0) }
            state.progressed.removeAll(keepingCapacity: true)
            return Batch(reports: reports, model: state.model)
        }
    }

    /// Whether events of a kind are printed; the others only update the model.
    private func keeps(_ kind: TransferEvent.Kind) -> Bool {
        switch kind {
        case .finished: self.wantsSuccesses
        case .failed, .cancelled: self.wantsFailures
        case .progress: self.wantsProgress
        case .started, .response, .retrying, .paused, .note, .missed: self.wantsDetails
        case .held, .released, .warning: true
        case .drained: false
        }
    }

    private func keep(_ report: Report, in state: inout State) {
        switch report.event.kind {
        case .finished, .failed, .cancelled:
            if let id = report.event.id { state.progressed[id] = nil }
            state.reports.append(report)
        case .progress: if let id = report.event.id { state.progressed[id] = report }
        case .started, .response, .retrying, .paused, .note, .warning, .held, .released, .missed:
            if state.reports.count < Self.detailLimit { state.reports.append(report) } else { state.missed += 1 }
        case .drained: break
        }
    }
}

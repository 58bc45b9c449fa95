// SPDX-License-Identifier: Apache-2.0
import Control
import Synchronization
import TransferCore

/// Shows the progress of transfers of the daemon: a table on a terminal, otherwise a line every ten seconds.
final class WaitProgress: Sendable {
    private let console: Console
    private let isQuiet: Bool
    private let clock: @Sendable () -> Double
    private let start: Double
    private let lines = Mutex(ProgressLines())

    /// Creates the output.
    ///
    /// - Parameters:
    ///   - console: The output.
    ///   - isQuiet: Whether nothing is shown.
    ///   - clock: Returns a monotonic time in seconds.
    init(_ console: Console, isQuiet: Bool, clock: @escaping @Sendable () -> Double) {
        self.console = console
        self.isQuiet = isQuiet
        self.clock = clock
        self.start = clock()
    }

    /// The time since this call, in seconds.
    static func clock() -> @Sendable () -> Double {
        let start = ContinuousClock.now
        return { Quantity.seconds(ContinuousClock.now - start) }
    }

    /// Shows the running transfers of an event `progress`; ignores other events.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - done: The number of transfers that have ended, and of all; `nil` if it is not counted.
    ///   - isShown: Whether a transfer is shown.
    func show(_ event: JSON, done: (ended: Int, all: Int)?, where isShown: (GID) -> Bool) {
        guard !self.isQuiet, let running = event["transfers"]?.array else { return }
        func records() -> [TransferRecord] {
            running.compactMap { TransferRecord(json: $0) }.filter { isShown($0.id) }
        }
        guard self.console.isLive else {
            let time = self.clock() - self.start
            if let line = self.lines.withLock({ $0.line(at: time) { Self.text(records(), done) } }) {
                self.console.tell(line)
            }
            return
        }
        let size = Terminal.size(2)
        let table = TransferTable(columns: size.columns, asciiOnly: !Terminal.isUnicode)
        self.console.draw(records().prefix(max(1, size.rows - 2)).map { table.line($0) })
    }

    private static func text(_ records: [TransferRecord], _ done: (ended: Int, all: Int)?) -> String {
        var amounts = ProgressLines.Amounts()
        amounts.bytes = records.reduce(0) { $0.addingReportingOverflow($1.bytes).partialValue }
        let totals = records.compactMap(\.total)
        if totals.count == records.count, done.map({ $0.all - $0.ended == records.count }) ?? false {
            amounts.total = totals.reduce(0) { $0.addingReportingOverflow($1).partialValue }
        }
        amounts.rate = records.reduce(0) { $0 + Double($1.rate) }
        amounts.held = records.count { $0.state == .held }
        guard let done else {
            return "\(records.count) running, \(Quantity.bytes(amounts.bytes)), \(Quantity.rate(amounts.rate))"
        }
        amounts.done = done.ended
        amounts.all = done.all
        return amounts.text
    }
}

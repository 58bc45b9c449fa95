// SPDX-License-Identifier: Apache-2.0
import Control

/// Changes of transfers.
extension TopModel {
    /// Pauses the targets that can be.
    mutating func pause(_ targets: [TopMarks.Target]) {
        let suitable = targets.filter { $0.state == .waiting || $0.state.isStarted }
        self.apply(suitable, of: targets, TopCall.pause, "running or waiting")
    }

    /// Resumes paused targets, and tries again at once what waits for its host or its next attempt.
    mutating func resume(_ targets: [TopMarks.Target]) {
        let suitable = targets.filter { $0.state == .paused || $0.waitsToTry }
        self.apply(suitable, of: targets, TopCall.resume, "paused")
    }

    /// Queues failed and removed targets again, and tries again at once what waits for its host or its next attempt.
    mutating func retry(_ targets: [TopMarks.Target]) {
        let suitable = targets.filter { $0.state == .failed || $0.state == .removed || $0.waitsToTry }
        self.apply(suitable, of: targets, TopCall.retry, "failed or removed")
    }

    private mutating func apply(
        _ suitable: [TopMarks.Target],
        of targets: [TopMarks.Target],
        _ call: (TopSelection) -> TopCall,
        _ condition: String
    ) {
        guard !targets.isEmpty else { return self.say("no transfer is selected", isError: true) }
        guard !suitable.isEmpty else {
            let which = targets.count == 1 ? "the transfer is not" : "none of the transfers is"
            return self.say("\(which) \(condition)", isError: true)
        }
        self.call([call(.ids(suitable.map(\.id)))])
    }

    // MARK: The order

    /// Moves the targets that are loaded by one row: past the row before or after them.
    mutating func reorder(by step: Int) {
        let targets = self.marks.count > 0 ? nil : self.window.selected
        let moving = { [marks] (record: TransferRecord) in targets.map { $0 == record.id } ?? marks.contains(record.id)
        }
        let rows = self.window.records
        let isAtEdge =
            step < 0
            ? self.window.offset == 0
            : self.window.offset + rows.count >= self.window.total || rows.contains { $0.state.isEnd }
        var calls: [TopCall] = []
        var passed: TransferRecord?
        // The first to move is the one whose neighbour stays, so that all keep their order.
        for record in step < 0 ? rows : rows.reversed() where !record.state.isEnd {
            if !moving(record) {
                passed = record
            } else if let passed {
                calls.append(.move(record.id, .of(passed.id)))
            } else if !isAtEdge {
                calls.append(.move(record.id, .relative(step)))
            }
        }
        self.move(calls)
    }

    /// Moves the targets to an end of the queue.
    mutating func reorder(to place: TopPlace) {
        let ids = self.targets.filter { !$0.state.isEnd }.map(\.id)
        // The last one moved to the front is the first.
        let ordered = place == .first ? ids.reversed() : ids
        self.move(ordered.map { .move($0, place) })
    }

    private mutating func move(_ calls: [TopCall]) {
        if self.query.order != .queue {
            return self.say("the list is not in the order of the queue; press s until it is", isError: true)
        }
        if !calls.isEmpty { return self.call(calls) }
        if self.targets.isEmpty { return self.say("no transfer is selected", isError: true) }
        if self.targets.allSatisfy({ $0.state.isEnd }) {
            return self.say("transfers that have ended are not in the queue", isError: true)
        }
        if !self.targets.contains(where: { target in self.window.records.contains { $0.id == target.id } }) {
            self.say("the marked transfers are not on the screen", isError: true)
        }
    }
}

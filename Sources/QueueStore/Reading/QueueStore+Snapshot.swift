// SPDX-License-Identifier: Apache-2.0
package import Control

extension QueueStore {
    /// Copies the current transfers into an unnamed file in the database's directory.
    ///
    /// The read transaction lasts only as long as the copy, about a second for a million transfers. The order is that
    /// of ``QueueReader/transfers(in:session:offset:limit:fromEnd:)``.
    ///
    /// - Parameters:
    ///   - states: The states, not empty.
    ///   - session: `.some(nil)` for the shared queue alone, `nil` for everything.
    /// - Returns: The list.
    /// - Throws: `full` or `inputOutput`, also for the list's own file.
    package func snapshot(
        states: Set<TransferRecord.State>,
        session: String??
    ) async throws(QueueStoreError) -> SpooledList {
        let directory = self.directory
        return try await self.read { (reader) throws(QueueStoreError) in
            try reader.spool(states, session, directory)
        }
    }
}

extension QueueReader {
    private static let stretch = 1 << 20

    fileprivate func spool(
        _ states: Set<TransferRecord.State>,
        _ session: String??,
        _ directory: String
    ) throws(QueueStoreError) -> SpooledList {
        let file = try SpoolFile(directory: directory)
        var names: [Int64: String] = [:]
        try self.connection.each("SELECT number, identifier FROM sessions") { row in
            if let number = row.integer(0), let name = row.text(1) { names[number] = name }
            return true
        }
        var (bytes, offset, count) = ([UInt8](), Int64(0), 0)
        bytes.reserveCapacity(Self.stretch + (64 << 10))
        if let queues = try self.queues(session) {
            try self.eachRow(states, queues) { (row) throws(QueueStoreError) in
                SpoolRecord.append(row, to: &bytes)
                count += 1
                guard bytes.count >= Self.stretch else { return true }
                try file.write(bytes, at: offset)
                offset += Int64(bytes.count)
                bytes.removeAll(keepingCapacity: true)
                return true
            }
        }
        try file.write(bytes, at: offset)
        return SpooledList(file, count: count, names: names, path: self.connection.path)
    }

    private func eachRow(
        _ states: Set<TransferRecord.State>,
        _ queues: ClosedRange<Int64>,
        _ body: (StatementRow) throws(QueueStoreError) -> Bool
    ) throws(QueueStoreError) {
        let line = Half(isEnded: false, queues: queues, mask: states.mask & 0b11)
        var last = queues.lowerBound - 1
        while line.mask != 0, let queue = try self.connection.queue(next: last, of: line, isBackward: false) {
            last = queue
            try self.connection.each(
                """
                SELECT \(TransferColumns.names) FROM transfers INDEXED BY line WHERE queue = ? AND state < 2
                AND (? >> (state + \(StateClasses.shift))) & 1 ORDER BY position
                """,
                [queue, try self.connection.classes(of: queue).mask(line.mask)],
                body
            )
        }
        let ended = states.mask & 0b11100
        guard ended != 0 else { return }
        try self.connection.each(
            """
            SELECT \(TransferColumns.names) FROM transfers INDEXED BY history WHERE state > 1
            AND queue BETWEEN ? AND ? AND (? >> state) & 1 AND \(TransferColumns.isPresent) ORDER BY position
            """,
            [queues.lowerBound, queues.upperBound, ended],
            body
        )
    }
}

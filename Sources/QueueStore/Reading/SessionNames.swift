// SPDX-License-Identifier: Apache-2.0
/// A cache of session identifiers by queue number.
struct SessionNames {
    private var names: [Int64: String] = [:]

    /// Returns the session of a queue; `nil` for the shared queue.
    mutating func name(of queue: Int64, _ connection: Connection) throws(QueueStoreError) -> String? {
        if queue == 0 { return nil }
        if let name = self.names[queue] { return name }
        let found = try connection.first("SELECT identifier FROM sessions WHERE number = ?", [queue]) { $0.text(0) }
        guard let name = found ?? nil else { throw .damaged(connection.path, "a transfer's session is missing") }
        self.names[queue] = name
        return name
    }
}

// SPDX-License-Identifier: Apache-2.0
package import Control
internal import QueueStore

/// An unfinished transfer as an entry of aria2's input files, which `aria2c -i` and `martlet get -i` read.
///
/// Pure value.
///
/// - Source: aria2c(1), "Input File" and `--save-session`; aria2's `SessionSerializer`.
package struct SavedSession: Sendable {
    /// The states of the transfers that are saved: as in aria2, failed ones are included.
    static let states: Set<TransferRecord.State> = [.waiting, .active, .retrying, .held, .paused, .failed]

    /// UTF-8 text.
    package private(set) var bytes: [UInt8] = []

    /// Creates an empty session.
    package init() {}

    /// Appends a download; uploads and requests with content cannot be represented and are omitted.
    mutating func append(_ transfer: StoredTransfer) {
        guard transfer.upload == nil, transfer.options[.body] == nil else { return }
        self.append(
            NewTransfer(
                id: transfer.id,
                urls: transfer.urls,
                options: transfer.options,
                isPaused: transfer.state == .paused
            ),
            in: transfer.directory
        )
    }

    /// Appends a download outside any queue.
    ///
    /// - Parameters:
    ///   - transfer: The download.
    ///   - directory: Its directory.
    package mutating func append(_ transfer: NewTransfer, in directory: String) {
        self.append(transfer.urls.joined(separator: "\t") + "\n")
        if let id = transfer.id { self.append("gid", id.description) }
        if transfer.isPaused { self.append("pause", "true") }
        self.append("dir", directory)
        for name in transfer.options.names where !QueueOption(name).isOwn && name != .dir {
            for value in transfer.options[all: name] { self.append(name.rawValue, value) }
        }
    }

    private mutating func append(_ name: String, _ value: String) {
        // A line break in a value would start another option.
        guard !value.utf8.contains(0x0A), !value.utf8.contains(0x0D) else { return }
        self.append(" \(name)=\(value)\n")
    }

    private mutating func append(_ text: String) { self.bytes.append(contentsOf: text.utf8) }
}

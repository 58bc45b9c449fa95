// SPDX-License-Identifier: Apache-2.0
/// The events of which the daemon notifies the user on the desktop.
public enum TransferNotification: Sendable, Hashable, CaseIterable {
    /// A transfer finished: its file is complete, or the server has acknowledged the upload.
    case finished
    case failed
    /// A transfer ended, and no other one of the session waits or runs any more.
    case allDone

    /// The name in options and in a session's configuration: `finished`, `failed` or `done`.
    package var word: String {
        switch self {
        case .finished: "finished"
        case .failed: "failed"
        case .allDone: "done"
        }
    }

    /// Finds the event of a name; `nil` if there is none.
    package init?(word: some StringProtocol) {
        guard let found = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = found
    }
}

extension Set<TransferNotification> {
    /// Parses names separated by commas, such as `failed,done`; `none` is the empty set.
    ///
    /// - Returns: `nil` if a name is unknown, or if there is none.
    package init?(words: some StringProtocol) {
        self = []
        if words == "none" { return }
        for word in words.split(separator: ",", omittingEmptySubsequences: false) {
            guard let event = TransferNotification(word: word) else { return nil }
            self.insert(event)
        }
    }

    /// The names, in a fixed order and separated by commas, or `none`.
    package var words: String {
        self.isEmpty ? "none" : TransferNotification.allCases.filter(self.contains).map(\.word).joined(separator: ",")
    }
}

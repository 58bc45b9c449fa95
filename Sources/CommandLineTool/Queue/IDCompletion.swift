// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import TransferCore

/// Completes the ids of transfers in a shell by asking the daemon.
///
/// Without a daemon, and if it does not respond in time, there are none: a completion must not print or start anything.
enum IDCompletion {
    /// The completion of an argument with ids.
    static var kind: CompletionKind {
        .custom { words, _, prefix in
            let prefix = String(prefix.drop { $0 == "'" || $0 == "\"" })
            let showsNames = CompletionShell.requesting.map { $0 == .zsh || $0 == .fish } ?? false
            return Self.candidates(words, prefix: prefix)
                .map { record in
                    guard showsNames else { return record.id.description }
                    let text = Self.description(of: record)
                    return record.id.description + (CompletionShell.requesting == .zsh ? ":" : "\t") + text
                }
        }
    }

    /// The maximum number of candidates.
    private static let limit = 100
    /// The time for the daemon's response, in seconds.
    private static let patience = 2

    /// The transfers whose ids begin with a text.
    ///
    /// - Parameters:
    ///   - words: The words of the line.
    ///   - prefix: The beginning of the id.
    ///   - patience: The time for the daemon's response, in seconds.
    /// - Returns: The transfers; none if the daemon does not respond in time.
    static func candidates(
        _ words: [String],
        prefix: String,
        within patience: Int = Self.patience
    ) -> [TransferRecord] {
        guard prefix.utf8.count <= 16, prefix.allSatisfy(\.isHexDigit) else { return [] }
        let given = Set(words)
        let found = QueueRun.result(within: patience) { () -> [TransferRecord] in
            guard let state = try? StateDirectory(Self.stateDirectory(in: words)) else { return [] }
            let client = ControlClient(state)
            return (try? await client.list(beginning: prefix, states: Self.states(of: words), limit: Self.limit)) ?? []
        }
        return (found ?? []).filter { !given.contains($0.id.description) }
    }

    /// The states in which a command can have an effect.
    static func states(of words: [String]) -> [TransferRecord.State] {
        let unfinished: [TransferRecord.State] = [.active, .retrying, .held, .waiting]
        switch words.dropFirst().first {
        case "pause": return unfinished
        case "resume": return [.paused, .retrying, .held]
        case "retry": return [.failed, .removed, .retrying, .held]
        case "remove", "wait", "move", "limit": return unfinished + [.paused]
        case "forget": return [.failed, .finished, .removed]
        default: return TransferRecord.State.allCases
        }
    }

    /// The value of `--state-dir` on an incomplete command line.
    static func stateDirectory(in words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            if word.hasPrefix("--state-dir=") { return String(word.dropFirst("--state-dir=".count)) }
            if word == "--state-dir", index + 1 < words.count { return words[index + 1] }
        }
        return nil
    }

    /// The state and the name of a transfer, for shells that show a description.
    private static func description(of record: TransferRecord) -> String {
        let name = DisplayText.clean(TransferTable.name(of: record), asciiOnly: !Terminal.isUnicode)
        let line = "\(record.state.rawValue) \(name)"
        return DisplayText.elided(line, to: 60, mark: "...").replacing(":", with: "\u{2236}")
    }
}

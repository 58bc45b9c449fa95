// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// The texts of `aria2c --help` and `aria2c --version`.
enum Aria2Help {
    /// The text that the settings request, or `nil`.
    static func text(_ settings: Aria2Settings) -> String? {
        if settings.text("version") != nil { return self.version }
        return settings.text("help").map { self.help($0) }
    }

    /// Begins like aria2's: programs compare the version.
    private static let version = """
        aria2 version 1.36.0 (martlet \(MartletVersion.text) in place of aria2c)

        ** Configuration **
        Enabled Features: Async DNS, Firefox3 Cookie, HTTPS, Message Digest, XML-RPC
        Hash Algorithms: sha-1, sha-256, sha-384, sha-512, md5
        Not supported: BitTorrent, Metalink, FTP, SFTP

        """

    private static func help(_ word: String) -> String {
        let isTag = word.isEmpty || word.hasPrefix("#")
        func lines(_ title: String, _ options: [Aria2Option]) -> [String] {
            let found = isTag ? options : options.filter { $0.name.contains(word) }
            return found.isEmpty ? [] : ["", title] + found.map(\.usage)
        }
        var text = [
            "Usage: aria2c [OPTIONS] [URI]...",
            "This is martlet \(MartletVersion.text) in place of aria2c. Options have the meaning of aria2 1.36.",
        ]
        text += lines("Options of each download, also in input files:", Aria2OptionList.downloads)
        text += lines("Options of the run, the queue and the RPC:", Aria2OptionList.runs)
        if !isTag || word == "#all" {
            text += lines("Accepted; they change nothing here:", Aria2OptionList.unused)
            text += lines("Accepted; for protocols that are not supported:", Aria2OptionList.otherProtocols)
            text += lines("Refused:", Aria2OptionList.refused)
        } else {
            text += ["", "See 'aria2c --help=#all' for the options that change nothing, and those that are refused."]
        }
        return text.joined(separator: "\n") + "\n"
    }
}

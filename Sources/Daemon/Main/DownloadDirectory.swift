// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Platform

/// Determines the default directory for downloads.
///
/// - Source: xdg-user-dirs; user-dirs.dirs(5).
enum DownloadDirectory {
    /// `XDG_DOWNLOAD_DIR`, from the environment or the user's `user-dirs.dirs`, else `Downloads` in the home directory.
    ///
    /// Never the home directory itself: clients over TCP may write into the result. It need not exist: the first download
    /// creates it.
    ///
    /// - Parameters:
    ///   - state: The daemon's state directory, which has the downloads if there is no home directory.
    ///   - environment: Returns the value of an environment variable.
    ///   - read: Returns the text of a file, or `nil`.
    /// - Returns: The directory, absolute.
    static func find(
        state: String,
        environment: (String) -> String?,
        read: (String) -> String?
    ) -> String {
        let home = environment("HOME").flatMap { $0.hasPrefix("/") ? Self.trimmed($0) : nil }
        if let path = environment("XDG_DOWNLOAD_DIR"), path.hasPrefix("/"), Self.trimmed(path) != home ?? "/" {
            return Self.trimmed(path)
        }
        guard let home, home != "/" else { return state + "/downloads" }
        let configuration = environment("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.config"
        return read(configuration + "/user-dirs.dirs").flatMap { Self.named(in: $0, home: home) } ?? home + "/Downloads"
    }

    /// The directory in a `user-dirs.dirs`; `nil` if there is none, or if it is the home directory, which means none.
    private static func named(in text: String, home: String) -> String? {
        let key = "XDG_DOWNLOAD_DIR="
        var found: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.drop { $0 == " " || $0 == "\t" }
            guard line.hasPrefix(key) else { continue }
            let value = line.dropFirst(key.count).split(separator: "\"", omittingEmptySubsequences: false)
            // The value is "$HOME/…" or an absolute path, in double quotes.
            guard value.count >= 3, value[0].isEmpty else { continue }
            let path = value[1].hasPrefix("$HOME/") ? home + value[1].dropFirst(5) : String(value[1])
            found = path.hasPrefix("/") ? Self.trimmed(path) : nil
        }
        return found == home || found == "/" ? nil : found
    }

    /// A path without slashes at its end.
    private static func trimmed(_ path: String) -> String {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }
}

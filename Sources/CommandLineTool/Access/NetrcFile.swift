// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import TransferCore

/// Reads netrc files.
enum NetrcFile {
    private static let largest = 4 << 20

    /// The path that `--netrc` means: that in `$NETRC`, as for curl, or `~/.netrc`.
    ///
    /// - Throws: ``SyntaxError`` if there is no home directory.
    static func usualPath() throws(SyntaxError) -> String {
        if let path = self.variable("NETRC") { return path }
        guard let home = self.variable("HOME") else {
            throw SyntaxError("--netrc: HOME is not set, so that the file is unknown; name it with --netrc-file")
        }
        return home + "/.netrc"
    }

    /// Reads a file.
    ///
    /// - Returns: The entries, and the problems of the file as texts.
    /// - Throws: ``SyntaxError`` if it does not exist, cannot be read, or can be read by other users.
    static func read(_ path: String) throws(SyntaxError) -> (netrc: Netrc, problems: [String]) {
        let shown = DisplayText.clean(path)
        var status = stat()
        // The permissions of pipes and devices say nothing about the passwords.
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 {
            throw SyntaxError("other users may read the passwords in '\(shown)'; prevent it with: chmod 600 '\(shown)'")
        }
        guard let bytes = try PrivateText.bytes(path, atMost: self.largest) else {
            throw SyntaxError("the netrc file '\(shown)' does not exist; create it, or name another with --netrc-file")
        }
        let netrc = Netrc(bytes)
        return (netrc, netrc.problems.map { "\(shown):\($0.line): \($0.message)" })
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// Reads small files with secrets.
enum PrivateText {
    /// Reads a file; `nil` if it does not exist.
    ///
    /// - Throws: ``SyntaxError`` if it cannot be read.
    static func bytes(_ path: String, atMost: Int) throws(SyntaxError) -> [UInt8]? {
        do throws(StorageError) {
            return try AtomicFile.read(path, atMost: atMost)
        } catch {
            throw SyntaxError(error.message)
        }
    }

    /// Reads the token on the first line of a file.
    ///
    /// - Throws: ``SyntaxError`` if it cannot be read, or has no token.
    static func token(_ path: String) throws(SyntaxError) -> String {
        let shown = DisplayText.clean(path)
        guard let bytes = try self.bytes(path, atMost: 64 << 10) else {
            throw SyntaxError("--bearer-file: '\(shown)' does not exist; name a file with a token")
        }
        let line = String(decoding: bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self).trimmingBlanks
        guard !line.isEmpty, line.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw SyntaxError("--bearer-file: the first line of '\(shown)' is not a token, which has no spaces")
        }
        return line
    }
}

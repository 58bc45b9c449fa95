// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Receiver

/// Loads the credentials that clients may present.
enum ServeCredentials {
    /// Reads the credential files; creates the token file if it is missing.
    ///
    /// - Throws: `ControlError` or `ReceiverError` if a file cannot be read or parsed, or if other users can read it.
    static func load(_ plan: ServePlan) throws -> [AccessCredential] {
        var credentials: [AccessCredential] = []
        if let path = plan.tokenFile {
            credentials.append(AccessCredential(.token, secret: try SecretFile.readOrMake(path), rights: .all))
        }
        if let path = plan.credentialFile {
            credentials += try AccessCredential.list(parsing: try self.privateText(path), source: path)
        }
        return credentials
    }

    /// Reads the password of the links: the first line of a file.
    ///
    /// - Throws: `ReceiverError` if the file cannot be read, other users can read it, or the line is empty.
    static func sharePassword(_ plan: ServePlan) throws(ReceiverError) -> String? {
        guard let path = plan.sharePasswordFile else { return nil }
        let line = try self.privateText(path).prefix { !$0.isNewline }
        guard (1...1024).contains(line.utf8.count) else {
            throw ReceiverError(.credentials, "the first line of '\(path)' is not a password of 1 to 1024 bytes")
        }
        return String(line)
    }

    /// Reads a file that only its owner may read.
    private static func privateText(_ path: String) throws(ReceiverError) -> String {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw ReceiverError(.credentials, "cannot read '\(path)': \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw ReceiverError(.credentials, "others may read '\(path)'; take that away with: chmod 600 '\(path)'")
        }
        return try ServeFile.text(path)
    }
}

/// Reads small files that are named by options.
enum ServeFile {
    /// Returns the first MiB of a file, rounded up to the read size, as text.
    ///
    /// - Throws: `ReceiverError` with `credentials` if it cannot be opened.
    static func text(_ path: String) throws(ReceiverError) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ReceiverError(.credentials, "cannot read '\(path)': \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while text.count <= 1 << 20 {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            text.append(contentsOf: buffer[..<count])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

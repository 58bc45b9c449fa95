// SPDX-License-Identifier: Apache-2.0
internal import Platform

internal import TransferCore

/// A file with the token for RPC over TCP: one line of text, readable by its owner only.
package enum SecretFile {
    /// The maximum length of a token.
    package static let limit = 1024

    /// Reads the token; if the file does not exist, creates it (mode 0600) with 32 random bytes in hexadecimal digits.
    ///
    /// - Throws: ``ControlError`` with `forbidden` if others may read the file, `badParameter` if it does not contain a
    ///   token, `storage` or `diskFull` if it cannot be read or created.
    package static func readOrMake(_ path: String) throws(ControlError) -> String {
        if let secret = try self.readIfThere(path) { return secret }
        // Written to a temporary file and linked: no process reads a partial token, and of two processes the first one
        // wins.
        let temporary = path + "." + Hexadecimal.encode(self.random(8))
        try self.write(Hexadecimal.encode(self.random(32)) + "\n", to: temporary)
        let linked = link(temporary, path)
        let reason = errno
        unlink(temporary)
        errno = reason
        guard linked == 0 || reason == EEXIST else { throw PosixPath.cannotMake(path) }
        return try self.read(path)
    }

    /// Reads the token.
    ///
    /// - Throws: ``ControlError`` like ``readOrMake(_:)``; `notFound` if the file does not exist.
    package static func read(_ path: String) throws(ControlError) -> String {
        guard let secret = try self.readIfThere(path) else {
            throw ControlError(.notFound, "the token file '\(path)' does not exist", remedy: "name an existing file")
        }
        return secret
    }

    /// Reads the token from an open descriptor until its end, and closes it.
    ///
    /// - Throws: ``ControlError`` with `badParameter` if the content is not a token.
    package static func read(_ descriptor: Int32) throws(ControlError) -> String {
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: self.limit + 2)
        var length = 0
        while length < bytes.count {
            let count = bytes[length...].withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw ControlError(
                    .badParameter,
                    "cannot read the token from descriptor \(descriptor): \(String(cString: strerror(errno)))",
                    remedy: "pass a descriptor that is open for reading"
                )
            }
            guard count > 0 else { break }
            length += count
        }
        return try self.token(bytes[..<length], from: "descriptor \(descriptor)")
    }

    private static func readIfThere(_ path: String) throws(ControlError) -> String? {
        // Non-blocking, so that a named pipe in its place causes an error instead of a hang.
        let raw = systemOpen(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard raw >= 0 else {
            if errno == ENOENT { return nil }
            throw ControlError(
                .storage,
                "cannot read the token file '\(path)': \(String(cString: strerror(errno)))",
                remedy: "name a readable file"
            )
        }
        defer { close(raw) }
        try self.check(raw, path)
        var bytes = [UInt8](repeating: 0, count: self.limit + 2)
        let count = systemRead(raw, &bytes, bytes.count)
        guard count >= 0 else {
            throw ControlError(.storage, "cannot read '\(path)': \(String(cString: strerror(errno)))")
        }
        return try self.token(
            bytes[..<count],
            from: "the token file '\(path)'",
            remedy: "delete the file to generate a token, or write one into it"
        )
    }

    /// Checks a token from any source.
    ///
    /// - Parameters:
    ///   - bytes: The token, with or without a line ending.
    ///   - source: The source of the token, for the message.
    ///   - remedy: How to provide a token there.
    /// - Returns: The token.
    /// - Throws: ``ControlError`` with `badParameter` if it is empty or too long, has a space at an end, or contains
    ///   anything but printable ASCII.
    package static func token(
        _ bytes: some Collection<UInt8>,
        from source: String,
        remedy: String = "pass such a line"
    ) throws(ControlError) -> String {
        var token = Array(bytes)
        if token.last == 0x0A { token.removeLast() }
        if token.last == 0x0D { token.removeLast() }
        guard !token.isEmpty, token.count <= self.limit, token.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }),
            token.first != 0x20, token.last != 0x20
        else {
            throw ControlError(
                .badParameter,
                "\(source) is not a token: one line of 1 to \(self.limit) ASCII characters, without spaces around it",
                remedy: remedy
            )
        }
        return String(decoding: token, as: UTF8.self)
    }

    private static func check(_ raw: Int32, _ path: String) throws(ControlError) {
        var status = stat()
        guard fstat(raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ControlError(.badParameter, "'\(path)' is not a regular file", remedy: "name a file with a token")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw ControlError(
                .forbidden,
                "the token file '\(path)' belongs to user \(status.st_uid)",
                remedy: "create your own: a missing file is created with a new token"
            )
        }
        guard status.st_mode & 0o077 == 0 else {
            throw ControlError(
                .forbidden,
                "other users can read the token file '\(path)'",
                remedy: "run: chmod 600 '\(path)', and replace the token if it may have been read"
            )
        }
    }

    private static func write(_ text: String, to path: String) throws(ControlError) {
        let raw = systemOpen(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard raw >= 0 else { throw PosixPath.cannotMake(path) }
        let bytes = Array(text.utf8)
        let isWritten = systemWrite(raw, bytes, bytes.count) == bytes.count && fsync(raw) == 0
        let reason = errno
        close(raw)
        guard isWritten else {
            unlink(path)
            errno = reason
            throw PosixPath.cannotMake(path)
        }
    }

    private static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

/// read(2) under a name that a method called `read` does not shadow.
func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

/// write(2) under a name that a method called `write` does not shadow.
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

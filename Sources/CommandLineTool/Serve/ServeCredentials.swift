import Control
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif
import Receiver

/// What clients may show, from the files that were named.
enum ServeCredentials {
    /// Reads the files; the token's is made where it is missing.
    ///
    /// - Throws: `ControlError` or `ReceiverError` where one cannot be read, may be read by others, or cannot be understood.
    static func load(_ plan: ServePlan) throws -> [Credential] {
        var credentials: [Credential] = []
        if let path = plan.tokenFile {
            credentials.append(Credential(.token, secret: try SecretFile.readOrMake(path), rights: .all))
        }
        if let path = plan.credentialFile {
            credentials += try Credential.list(parsing: try self.privateText(path), source: path)
        }
        return credentials
    }

    /// The text of a file that nobody else may read.
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

/// Small files that options name.
enum ServeFile {
    /// The text of a file of at most 1 MiB.
    ///
    /// - Throws: `ReceiverError` with `credentials` where it cannot be read.
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

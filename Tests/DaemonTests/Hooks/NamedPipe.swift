// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Platform
import TransferTesting

/// A named pipe that commands write to, each message with a zero byte behind it.
struct NamedPipe: Sendable {
    let path: String
    private let descriptor: Int32

    init(_ directory: TemporaryDirectory, _ name: String = "answers") throws {
        self.path = directory.path(name)
        // Open for writing too, so that it has no end between two commands.
        guard mkfifo(self.path, 0o600) == 0, case let descriptor = open(self.path, O_RDWR), descriptor >= 0 else {
            throw TestSupportError("no named pipe can be made at \(self.path)")
        }
        self.descriptor = descriptor
    }

    /// Waits for messages, at most half a minute for each.
    func messages(_ count: Int) async throws -> [String] {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try self.read(count) }) }
        }
    }

    private func read(_ count: Int) throws -> [String] {
        var bytes: [UInt8] = []
        while true {
            let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
            if parts.count > count { return parts[..<count].map { String(decoding: $0, as: UTF8.self) } }
            var wanted = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
            var buffer = [UInt8](repeating: 0, count: 65536)
            var readable: Int32
            repeat { readable = poll(&wanted, 1, 30_000) } while readable < 0 && errno == EINTR
            guard readable == 1, case let read = Platform.read(self.descriptor, &buffer, buffer.count),
                read > 0
            else { throw TestSupportError("only \(parts.count - 1) of \(count) messages came") }
            bytes += buffer[..<read]
        }
    }

    /// Writes a line for one command that waits to read it.
    func sendLine() { _ = Platform.write(self.descriptor, "\n", 1) }

    /// To be called at the end.
    ///
    /// The name is removed first: a command that opens the pipe later would wait for another end for ever, and, as it has
    /// inherited the output of the tests, the reader of that output would wait, too.
    func close() {
        unlink(self.path)
        _ = Platform.close(self.descriptor)
    }
}

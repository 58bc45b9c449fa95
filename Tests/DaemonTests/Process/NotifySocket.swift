// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Platform
import TransferTesting

/// A datagram socket as systemd provides it for the notifications of services: sd_notify(3).
final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32

    /// The most seconds that a message may take to come.
    private static let patience = 30

    /// Makes the socket; one that was there before is replaced.
    init(_ path: String) throws {
        self.path = path
        self.descriptor = socket(AF_UNIX, SocketType.datagram, 0)
        guard self.descriptor >= 0 else { throw TestSupportError("there is no socket: errno \(errno)") }
        _ = fcntl(self.descriptor, F_SETFD, FD_CLOEXEC)
        unlink(path)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw TestSupportError("\(path) is too long for a socket; set TMPDIR to a shorter directory")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(self.descriptor, $0, size) }
        }
        guard status == 0 else { throw TestSupportError("no socket can be made at \(path): errno \(errno)") }
        var limit = timeval(tv_sec: Self.patience, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { _ = close(self.descriptor) }

    /// The next message; blocks until it is there.
    func next() throws -> String {
        var buffer = [UInt8](repeating: 0, count: 512)
        while true {
            let count = recv(self.descriptor, &buffer, buffer.count, 0)
            if count >= 0 { return String(decoding: buffer[..<count], as: UTF8.self) }
            guard errno == EINTR else { throw TestSupportError("no message within \(Self.patience) s") }
        }
    }

    /// Waits until the service says that it is ready.
    func waitUntilReady() async throws {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global()
                .async {
                    continuation.resume(
                        with: Result { while try !self.next().split(separator: "\n").contains("READY=1") {} }
                    )
                }
        }
    }
}

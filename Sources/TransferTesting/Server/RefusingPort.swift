// SPDX-License-Identifier: Apache-2.0
import Platform

/// A port of this machine that refuses every connection, reserved as long as this object exists.
///
/// The port of a stopped server is free, and may be taken by the server of another test.
public final class RefusingPort: Sendable {
    /// The port.
    public let port: Int
    private let descriptor: Int32

    /// Binds a port without listening on it.
    ///
    /// - Parameter isShared: Whether a server with SO_REUSEADDR can listen on the port, as this socket does not listen
    ///   (socket(7)); the port stays reserved while that server is stopped.
    /// - Throws: ``TestSupportError`` if no port is available.
    public init(isShared: Bool = false) throws {
        let descriptor = socket(AF_INET, SocketType.stream, 0)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var reuses: Int32 = isShared ? 1 : 0
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuses, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard descriptor >= 0, bound else {
            throw TestSupportError("no port is available: \(String(cString: strerror(errno)))")
        }
        self.descriptor = descriptor
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(self.descriptor) }

    /// The URL of a path at this port, as text.
    public func text(_ path: String) -> String { "http://127.0.0.1:\(self.port)/\(path)" }
}

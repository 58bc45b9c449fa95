// SPDX-License-Identifier: Apache-2.0
import Platform
import Foundation
import TransferTesting

/// A listening socket that reads the first bytes of each connection and then ends it.
final class RawListener: Sendable {
    /// How a connection ends.
    enum Act: Sendable {
        /// With this text.
        case reply(String)
        /// With a FIN.
        case close
        /// With an RST.
        case reset
    }

    /// The port on `127.0.0.1`.
    let port: Int
    private let descriptor: Int32

    init(_ act: Act) throws {
        let (listener, port) = try Self.freePort()
        self.descriptor = listener
        self.port = port
        // Not a task: accept(2) would block one of the few threads that all tasks share.
        Thread.detachNewThread {
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                Self.end(client, act)
            }
        }
    }

    /// Listens on a free port of `127.0.0.1`; the caller closes the descriptor.
    static func freePort() throws -> (descriptor: Int32, port: Int) {
        let listener = socket(AF_INET, SocketType.stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, generic, &length) == 0
            }
        }
        guard isBound else { throw TestSupportError("the listening socket cannot be made") }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    private static func end(_ client: Int32, _ act: Act) {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        _ = recv(client, &bytes, bytes.count, 0)
        switch act {
        case .reply(let text): _ = send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL))
        case .close: break
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }
        close(client)
    }

    deinit {
        // Wakes the thread that accepts.
        shutdown(self.descriptor, Int32(SHUT_RDWR))
        close(self.descriptor)
    }
}

// SPDX-License-Identifier: Apache-2.0
/// Addresses of Unix sockets.
///
/// - Source: unix(7).
package enum UnixSocketAddress {
    /// Calls `body` with the address of a name.
    ///
    /// - Parameters:
    ///   - name: A path; or a name in Linux's abstract namespace, with `@` in place of the zero byte before it.
    ///   - body: Gets the address and its length.
    /// - Returns: The result of `body`; `nil` if the name is empty or too long.
    package static func with<Result>(
        _ name: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        if bytes[0] == 0x40 { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // The length of an abstract name counts; a path ends at the zero byte after it.
        let offset = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 0
        let length = socklen_t(offset + bytes.count + (bytes[0] == 0 ? 0 : 1))
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

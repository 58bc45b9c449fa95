// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import Platform
internal import TransferCore

/// Looks up addresses with the C library, which blocks.
enum AddressLookup {
    /// Returns the addresses of a name for TCP, ordered by RFC 6724 within each family, with port 0.
    ///
    /// - Source: getaddrinfo(3).
    static func addresses(of name: String) -> NameResolver.Outcome {
        var hint = addrinfo()
        hint.ai_socktype = SocketType.stream
        hint.ai_protocol = CInt(IPPROTO_TCP)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hint, &first)
        guard status == 0 else { return .failure(self.failure(status)) }
        defer { if let first { freeaddrinfo(first) } }
        var addresses: [SocketAddress] = []
        var next = first
        while let info = next?.pointee {
            if let bytes = UnsafeRawPointer(info.ai_addr) {
                switch info.ai_family {
                case AF_INET: addresses.append(SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self), host: name))
                case AF_INET6: addresses.append(SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self), host: name))
                default: break
                }
            }
            next = info.ai_next
        }
        if addresses.isEmpty { return .failure(NameFailure(.unknownName, "the name has no address")) }
        return .success(addresses)
    }

    private static func failure(_ status: CInt) -> NameFailure {
        let message = gai_strerror(status).map { String(cString: $0).lowercased() } ?? "error \(status)"
        // Without a descriptor the C library reads no file and reaches no server, and reports that as any error.
        let probe = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard probe >= 0 else { return NameFailure(.localResource, message) }
        close(probe)
        if status == EAI_MEMORY { return NameFailure(.localResource, message) }
        return NameFailure(AddressInfoError.isUnknownName(Int(status)) ? .unknownName : .unavailable, message)
    }
}

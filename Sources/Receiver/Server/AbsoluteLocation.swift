// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// Makes the `Location` and the link of an upload absolute: some clients do not resolve references.
///
/// Redirects keep a path: their responses may be cached, and `Host` cannot be trusted then.
enum AbsoluteLocation {
    /// The URL of a path on this server, as the client addresses it.
    ///
    /// Behind a proxy that encrypts, `X-Forwarded-Proto` has the scheme of the client's connection.
    ///
    /// - Parameters:
    ///   - path: The path; starts with a slash.
    ///   - request: The request.
    /// - Returns: The URL, or the path if the request has no valid `Host`.
    static func url(_ path: String, _ request: Request) -> String {
        let fields = request.head.fields
        let hosts = fields.values("Host")
        guard hosts.count == 1, let host = hosts.first, RequestPolicy.name(host) != nil,
            host.utf8.allSatisfy(self.isHostByte)
        else { return path }
        let forwarded = fields["X-Forwarded-Proto"]?.lowercased()
        let isSecure = request.isSecure || forwarded == "https"
        return "\(isSecure ? "https" : "http")://\(host)\(path)"
    }

    /// Replaces the paths in the `Location` and the link of a response that is not a redirect.
    static func resolve(_ fields: inout HeaderFields, status: Int, _ request: Request) {
        guard !(300..<400).contains(status) else { return }
        for name in ["Location", ShareLink.field] {
            guard let path = fields[name], path.hasPrefix("/") else { continue }
            fields.remove(name)
            fields.append(name, self.url(path, request))
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x3A, 0x5B, 0x5D, 0x5F: true
        default: false
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// Makes the `Location` and the link of an upload absolute: some clients do not resolve references.
///
/// Redirects keep a path: their responses may be cached, and `Host` cannot be trusted then.
enum AbsoluteLocation {
    /// The URL of a path of the receiver, as the client addresses it.
    ///
    /// - Parameters:
    ///   - path: The path without the base path; starts with a slash.
    ///   - request: The request.
    /// - Returns: The URL; a path with the base path if the request has no valid `Host`.
    static func url(_ path: String, _ request: Request) -> String {
        let hosts = request.head.fields.values("Host")
        let path = request.basePath + path
        let host = request.authority ?? (hosts.count == 1 ? hosts.first.flatMap(ForwardedFields.host) : nil)
        guard let host else { return path }
        return "\(request.isSecure ? "https" : "http")://\(host)\(path)"
    }

    /// Replaces the paths in the `Location` and the link of a response: they get the base path, and become absolute
    /// unless the response is a redirect.
    static func resolve(_ fields: inout HeaderFields, status: Int, _ request: Request) {
        self.resolve("Location", in: &fields, status, request)
        self.resolve(ShareLink.field, in: &fields, status, request)
    }

    private static func resolve(_ name: String, in fields: inout HeaderFields, _ status: Int, _ request: Request) {
        guard let path = fields[name], path.hasPrefix("/") else { return }
        let isRedirect = (300..<400).contains(status)
        fields.remove(name)
        fields.append(name, isRedirect ? request.basePath + path : self.url(path, request))
    }
}

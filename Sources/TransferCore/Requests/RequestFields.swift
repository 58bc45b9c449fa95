// SPDX-License-Identifier: Apache-2.0
/// Composes the header fields of requests, for downloads and uploads.
package enum RequestFields {
    /// Whether a field may be sent to another origin: it describes the client, or is for caches, and not about the user.
    package static func travels(_ name: String) -> Bool {
        switch name.lowercased() {
        case "user-agent", "accept", "accept-language", "cache-control", "pragma": true
        default: false
        }
    }

    /// Whether a field describes the content, and so is dropped with it.
    package static func describesContent(_ name: String) -> Bool { name.lowercased().hasPrefix("content-") }

    /// The value of `Authorization` for a URL with user information.
    package static func basicAuthorization(_ url: HTTPURL) -> String? {
        url.user.map { "Basic " + Base64.encode("\($0):\(url.password ?? "")".utf8) }
    }
}

/// Properties of request methods.
package enum RequestMethod {
    /// Whether a method only reads, so that parts may be requested and existing files compared.
    package static func isSafe(_ method: String) -> Bool { method == "GET" || method == "HEAD" }

    /// Whether repeating a request has the same effect as sending it once (RFC 9110 §9.2.2).
    package static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE": true
        default: false
        }
    }
}

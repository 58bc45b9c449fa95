// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Control
internal import TransferCore

/// The token in a request's head.
enum RequestCredential {
    /// Returns the token in `Authorization`, else in the query item `token`.
    static func token(of request: RoutedRequest) -> String? {
        request.fields["Authorization"].flatMap { self.token($0) } ?? QueryItems(target: request.target)["token"]
    }

    /// Returns the token in `Bearer TOKEN`, or the password in `Basic BASE64`.
    ///
    /// - Source: RFC 6750 §2.1, RFC 7617 §2.
    static func token(_ authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        let value = parts[1].drop { $0 == " " }
        switch parts[0].lowercased() {
        case "bearer": return String(value)
        case "basic":
            guard let bytes = Base64.decode(value.utf8), let colon = bytes.firstIndex(of: 0x3A) else { return nil }
            return String(decoding: bytes[(colon + 1)...], as: UTF8.self)
        default: return nil
        }
    }
}

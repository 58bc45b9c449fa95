// SPDX-License-Identifier: Apache-2.0
/// Authentication with a token.
///
/// - Source: RFC 6750 §2.1.
package enum BearerAuthentication {
    /// Returns the value of an Authorization or a Proxy-Authorization field.
    ///
    /// - Parameter token: Letters, digits and `-._~+/`, with `=` only at the end.
    /// - Returns: The value, or `nil` if the token contains other characters.
    package static func authorization(token: String) -> String? {
        let padding = token.utf8.drop(while: self.isTokenByte)
        guard padding.count < token.utf8.count, padding.allSatisfy({ $0 == 0x3D }) else { return nil }
        return "Bearer " + token
    }

    /// Whether the byte is valid in a token, before the padding at its end (RFC 9110 §11.2, token68).
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x2B, 0x2D...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A, 0x7E: true
        default: false
        }
    }
}

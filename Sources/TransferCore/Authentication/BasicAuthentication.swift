// SPDX-License-Identifier: Apache-2.0
/// Authentication with a user name and a password, which are sent unencrypted.
///
/// - Source: RFC 7617, in UTF-8.
package enum BasicAuthentication {
    /// Returns the value of an Authorization or a Proxy-Authorization field.
    ///
    /// - Returns: The value, or `nil` if the name contains a colon or either contains a control character, which cannot
    ///   be sent.
    package static func authorization(user: String, password: String) -> String? {
        let isControl = { (byte: UInt8) in byte < 0x20 || byte == 0x7F }
        guard !user.utf8.contains(where: { $0 == Byte.colon || isControl($0) }),
            !password.utf8.contains(where: isControl)
        else { return nil }
        return "Basic " + Base64.encode(Array("\(user):\(password)".utf8))
    }
}

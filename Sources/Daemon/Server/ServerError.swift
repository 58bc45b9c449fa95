// SPDX-License-Identifier: Apache-2.0
/// The reason why the server cannot start.
package struct ServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    package enum Code: Sendable, Hashable {
        /// Another process listens on the TCP address.
        case addressInUse
        /// The TCP address cannot be bound for another reason.
        case cannotListen
        /// The Unix socket cannot be created.
        case cannotMakeSocket
        /// A TCP address is configured without a token.
        case tokenMissing
    }

    /// The kind of error.
    package var code: Code
    /// What failed, and where.
    package var message: String
    /// How to fix it.
    package var remedy: String

    package init(_ code: Code, _ message: String, remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    package var description: String { "\(self.message); \(self.remedy)" }
}

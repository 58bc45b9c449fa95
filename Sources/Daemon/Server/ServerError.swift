/// Why the server does not serve.
package struct ServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    package enum Code: Sendable, Hashable {
        /// Another process listens on the TCP address.
        case addressInUse
        /// The TCP address cannot be listened on for another reason.
        case cannotListen
        /// The Unix socket cannot be made.
        case cannotMakeSocket
        /// TCP is asked for without a token.
        case tokenMissing
    }

    /// The kind of error.
    package var code: Code
    /// What happened and where.
    package var message: String
    /// How to mend it.
    package var remedy: String

    /// Creates an error.
    package init(_ code: Code, _ message: String, remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    /// What happened, where, and how to mend it.
    package var description: String { "\(self.message); \(self.remedy)" }
}

/// Why the daemon did not do what it was asked, or could not be asked.
public struct ControlError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error; the raw value is the `data.reason` of a `martlet.*` error answer.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// No daemon runs for this state directory.
        case notRunning
        /// A daemon could not be started, or went away while it was asked.
        case unreachable
        /// What answered speaks another protocol, or another version of it.
        case protocolMismatch
        /// The token is missing or wrong.
        case unauthorized
        /// There is no transfer, session or option of that name.
        case notFound
        /// Several transfers have an identifier that begins so.
        case ambiguous
        /// A transfer of that identifier is there, or was.
        case duplicate
        /// The transfer's state does not allow it.
        case wrongState
        /// A parameter is missing, of the wrong type, or has no meaning.
        case badParameter
        /// The path lies outside the allowed directories, or others may touch what is the user's own.
        case forbidden
        /// Another program has the session open.
        case sessionInUse
        /// Too much at once: the body, the batch, or the number of connections.
        case tooMuch
        /// The disk under the database is full.
        case diskFull
        /// The database or the state directory failed in another way.
        case storage
        /// The daemon is stopping.
        case stopping
        /// There is no such method.
        case unknownMethod
        /// Anything else.
        case unknown
    }

    /// The kind of error.
    public var code: Code
    /// What happened and where.
    public var message: String
    /// How to mend it; may be empty.
    public var remedy: String

    /// Creates an error.
    public init(_ code: Code, _ message: String, remedy: String = "") {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    /// What happened, where, and how to mend it.
    public var description: String { self.remedy.isEmpty ? self.message : "\(self.message); \(self.remedy)" }
}

/// Why the engine refused a call.
public struct EngineError: Error, Sendable, CustomStringConvertible {
    /// The kind of refusal.
    public enum Code: String, Sendable {
        /// The queue was closed: no more will come.
        case closed
        /// The user's name for a file cannot be used.
        case badName
        /// Another transfer is writing under this very name.
        case nameTaken
    }

    /// The kind of refusal.
    public let code: Code
    /// What was refused and how to mend it.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What was refused and how to mend it.
    public var description: String { self.message }
}

// SPDX-License-Identifier: Apache-2.0
/// An error thrown by the engine's methods.
public struct EngineError: Error, Sendable, CustomStringConvertible {
    /// The reason for the refusal.
    public enum Code: String, Sendable {
        /// The queue is closed and accepts no more transfers.
        case closed
        /// The file name in the request is not valid.
        case badName
        /// The file name must be exact, and another transfer uses it.
        case nameTaken
    }

    /// The reason for the refusal.
    public let code: Code
    /// The reason for the refusal, and how to fix it.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The reason for the refusal, and how to fix it.
    public var description: String { self.message }
}

// SPDX-License-Identifier: Apache-2.0
/// An error response of the daemon, or a failure to reach it.
public struct ControlError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error; the raw value is the `data.reason` of a `martlet.*` error response.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// No daemon runs for this state directory.
        case notRunning
        /// No daemon runs, and its executable is not found.
        case notInstalled
        /// A daemon could not be started, or the connection to it was lost during a request.
        case unreachable
        /// The peer speaks another protocol, or another version of it.
        case protocolMismatch
        /// The token is missing or wrong.
        case unauthorized
        /// No transfer, session or option has that name.
        case notFound
        /// The prefix matches the identifiers of several transfers.
        case ambiguous
        /// A transfer with that identifier exists, or existed.
        case duplicate
        /// The transfer's state does not allow it.
        case wrongState
        /// A parameter is missing, of the wrong type, or invalid.
        case badParameter
        /// The path is outside the allowed directories, or the permissions give others access to the user's files.
        case forbidden
        /// Another program has the session open.
        case sessionInUse
        /// A limit was exceeded: the size of the body or the batch, or the number of connections.
        case tooMuch
        /// The disk with the database is full.
        case diskFull
        /// The database or the state directory failed in another way.
        case storage
        /// The daemon is stopping.
        case stopping
        /// The method does not exist.
        case unknownMethod
        /// Any other error.
        case unknown
    }

    /// The kind of error.
    public var code: Code
    /// What failed, and where.
    public var message: String
    /// How to fix it; may be empty.
    public var remedy: String

    /// Creates an error.
    public init(_ code: Code, _ message: String, remedy: String = "") {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    /// The message and the remedy.
    public var description: String { self.remedy.isEmpty ? self.message : "\(self.message); \(self.remedy)" }
}

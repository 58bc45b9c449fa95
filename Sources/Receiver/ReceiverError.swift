// SPDX-License-Identifier: Apache-2.0
/// An error that prevents a receiver from starting or running.
public struct ReceiverError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    public struct Code: Sendable, Hashable {
        private enum Value: Sendable, Hashable {
            case address, directory, busy, credentials, certificate, links, signOuts
        }
        private let value: Value

        /// The receiver cannot listen on the address.
        public static let address = Code(value: .address)
        /// The directory or file to serve is missing, or it cannot be read or written.
        public static let directory = Code(value: .directory)
        /// Another receiver accepts uploads in the same directory.
        public static let busy = Code(value: .busy)
        /// Credentials are missing or cannot be parsed.
        public static let credentials = Code(value: .credentials)
        /// The certificate or its key cannot be used.
        public static let certificate = Code(value: .certificate)
        /// The stored links are damaged, or they cannot be read or written.
        public static let links = Code(value: .links)
        /// The stored sign-outs cannot be read or written.
        public static let signOuts = Code(value: .signOuts)
    }

    /// The kind of error.
    public var code: Code
    /// A message: what failed, where, and how to fix it.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { self.message }
}

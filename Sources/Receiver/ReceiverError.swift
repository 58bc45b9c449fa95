/// Why a receiver cannot start or go on.
public struct ReceiverError: Error, Sendable, CustomStringConvertible {
    /// What kind of trouble it is.
    public struct Code: Sendable, Hashable {
        private enum Value: Sendable, Hashable { case address, directory, busy, credentials, certificate }
        private let value: Value

        /// The address cannot be listened on.
        public static let address = Code(value: .address)
        /// The directory or file to serve is missing, or cannot be read or written.
        public static let directory = Code(value: .directory)
        /// Another receiver takes uploads in the same directory.
        public static let busy = Code(value: .busy)
        /// Credentials are missing or cannot be understood.
        public static let credentials = Code(value: .credentials)
        /// The certificate or its key cannot be used.
        public static let certificate = Code(value: .certificate)
    }

    /// What kind of trouble it is.
    public var code: Code
    /// What, where and how to mend it.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What, where and how to mend it.
    public var description: String { self.message }
}

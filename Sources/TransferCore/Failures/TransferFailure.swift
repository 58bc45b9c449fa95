/// Why a transfer, or an attempt of it, failed.
public struct TransferFailure: Error, Sendable, CustomStringConvertible {
    /// The kind of failure; the raw value is its exit status, as aria2's.
    public enum Code: Int, Sendable {
        /// Anything else.
        case unknown = 1
        /// A timeout.
        case timeout = 2
        /// The resource is not there (404, 410).
        case notFound = 3
        /// Below the lowest speed.
        case tooSlow = 5
        /// The network failed.
        case network = 6
        /// The server does not resume and resuming was required.
        case cannotResume = 8
        /// No space on the device.
        case noSpace = 9
        /// The file exists.
        case fileExists = 13
        /// An existing file could not be opened.
        case cannotOpen = 15
        /// The file could not be created.
        case cannotCreate = 16
        /// Reading or writing a file failed.
        case fileIO = 17
        /// The directory could not be created.
        case cannotCreateDirectory = 18
        /// The name could not be resolved.
        case nameResolution = 19
        /// A bad or unexpected HTTP response.
        case badResponse = 22
        /// Too many redirects, or a redirect that is refused.
        case redirects = 23
        /// Authentication failed (401, 407).
        case authentication = 24
        /// A bad option or argument.
        case badOption = 28
        /// The server is overloaded or in maintenance.
        case overloaded = 29
        /// A digest disagrees.
        case checksumMismatch = 32
        /// The body is larger than its receiver takes.
        case tooLarge = 33
    }

    /// The kind of failure.
    public var code: Code

    /// Whether the host, or the way to it, is at fault rather than the one resource: then all its transfers wait.
    package var isHostFault: Bool {
        switch self.code {
        case .overloaded, .nameResolution, .network: true
        default: false
        }
    }

    /// What happened and where.
    public var message: String
    /// How to mend it; may be empty.
    public var remedy: String
    /// The setting that may help, which each program calls by a name of its own.
    public var setting: Setting?
    /// Whether another attempt may succeed.
    public var isRetryable: Bool
    /// The response's status, where one caused it.
    public var status: Int?
    /// The seconds the server asked to wait, where it did.
    public var retryAfter: Int64?
    /// The response that caused it, where one did and the transfer has a policy that may want it.
    public var response: FailedResponse?

    /// Creates a failure.
    public init(
        _ code: Code,
        _ message: String,
        remedy: String = "",
        setting: Setting? = nil,
        isRetryable: Bool = false,
        status: Int? = nil,
        retryAfter: Int64? = nil
    ) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.setting = setting
        self.isRetryable = isRetryable
        self.status = status
        self.retryAfter = retryAfter
    }

    /// How to mend it, with the setting by the name that it has for the reader; may be empty.
    public func remedy(naming name: (Setting) -> String) -> String {
        let parts = [self.remedy, self.setting.map(name) ?? ""]
        return parts.filter { !$0.isEmpty }.joined(separator: ", or ")
    }

    /// What happened, where, and how to mend it as far as that needs no name of a setting.
    public var description: String { self.remedy.isEmpty ? self.message : "\(self.message); \(self.remedy)" }

    /// What a user can set so that it does not happen again.
    public enum Setting: Sendable, Hashable, CaseIterable {
        /// What to do where a file's name is taken.
        case existingFiles
        /// The time for the whole transfer.
        case resourceTimeout
        /// The time to connect.
        case connectTimeout
        /// Which authorities are trusted.
        case trust
        /// Credentials.
        case credentials
        /// How much is done at once.
        case concurrency
    }
}

extension TransferFailure {
    /// Converts a storage error into a failure of a transfer.
    public init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .noSpace: .noSpace
            case .exists: .fileExists
            case .cannotCreate: .cannotCreate
            case .cannotOpen: .cannotOpen
            case .cannotCreateDirectory: .cannotCreateDirectory
            case .inputOutput, .badJournal: .fileIO
            case .digestMismatch: .checksumMismatch
            }
        self.init(code, error.message)
    }
}

extension TransferFailure {
    /// Converts a transport error into a failure of a transfer.
    public init(_ error: TransportError) {
        let (code, isRetryable): (Code, Bool) =
            switch error.code {
            case .nameResolution: (.nameResolution, true)
            case .connectTimeout: (.timeout, true)
            case .certificate: (.network, false)
            case .proxySettings: (.badOption, false)
            case .proxyAuthentication: (.authentication, false)
            case .content: (.fileIO, false)
            case .malformed, .headTooLarge: (.badResponse, true)
            case .connect, .tls, .truncated, .reset, .localResource, .cancelled, .proxyRefused: (.network, true)
            }
        self.init(code, error.message, remedy: error.remedy, setting: error.setting, isRetryable: isRetryable)
    }
}

/// Why a transfer, or an attempt of it, failed.
public struct TransferFailure: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// The raw values are stable: they are stored, and are the `reason` in events and records.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// Anything else.
        case unknown
        /// A timeout.
        case timeout
        /// The resource is not there (404, 410).
        case notFound = "not-found"
        /// Below the lowest speed.
        case tooSlow = "too-slow"
        /// The host's or the proxy's name could not be resolved.
        case nameResolution = "name-resolution"
        /// The host refused the connection: nothing listens on the port, or a firewall rejects it.
        case connectionRefused = "connection-refused"
        /// There is no route to the host, or the network is down.
        case hostUnreachable = "host-unreachable"
        /// The peer reset the connection.
        case connectionReset = "connection-reset"
        /// The TLS handshake failed for another reason than a certificate.
        case tlsHandshake = "tls-handshake"
        /// The server's certificate has expired or is not valid yet.
        case certificateExpired = "certificate-expired"
        /// The server's certificate is for another host.
        case certificateWrongHost = "certificate-wrong-host"
        /// No trusted authority signed the server's certificate.
        case certificateUnknownAuthority = "certificate-unknown-authority"
        /// Another problem with a certificate: a pin that differs, or a client certificate that is missing or refused.
        case certificate
        /// The network failed otherwise.
        case network
        /// The server does not resume and resuming was required.
        case cannotResume = "cannot-resume"
        /// No space on the device.
        case noSpace = "no-space"
        /// The file exists.
        case fileExists = "file-exists"
        /// An existing file could not be opened.
        case cannotOpen = "cannot-open"
        /// The file could not be created.
        case cannotCreate = "cannot-create"
        /// Reading or writing a file failed.
        case fileIO = "file-io"
        /// The directory could not be created.
        case cannotCreateDirectory = "cannot-create-directory"
        /// A bad or unexpected HTTP response.
        case badResponse = "bad-response"
        /// Too many redirects, or a redirect that is refused.
        case redirects
        /// Authentication failed (401, 407).
        case authentication
        /// A bad option or argument.
        case badOption = "bad-option"
        /// The server is overloaded or in maintenance.
        case overloaded
        /// A digest disagrees.
        case checksumMismatch = "checksum-mismatch"
        /// The body is larger than its receiver takes.
        case tooLarge = "too-large"
    }

    /// The kind of failure.
    public var code: Code

    /// Whether the server is overloaded, or limits requests, and asks to come back later.
    package var isThrottled: Bool { self.status == 429 || self.status == 503 }

    /// What happened and where.
    public var message: String
    /// How to fix it; may be empty.
    public var remedy: String
    /// The setting that may help, which each program calls by a name of its own.
    public var setting: Setting?
    /// Whether another attempt may succeed.
    public var isRetryable: Bool
    /// The response's status, where one caused it.
    public var status: Int?
    /// The seconds the server asked to wait, where it did.
    public var retryAfter: Int64?
    /// The evidence of an outage that it is, if it is one.
    package var evidence: OutageEvidence?
    /// Whether this machine had too few file descriptors, or ports, for it: fewer transfers at once need fewer.
    package var isShortage = false
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

    /// How to fix it, with the setting by the name that it has for the reader; may be empty.
    public func remedy(naming name: (Setting) -> String) -> String {
        let parts = [self.remedy, self.setting.map(name) ?? ""]
        return parts.filter { !$0.isEmpty }.joined(separator: ", or ")
    }

    /// What happened, where, and how to fix it as far as that needs no name of a setting.
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
        /// How long an outage is waited out.
        case outageTimeout
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
            case .cannotOpen, .tooManyFiles: .cannotOpen
            case .cannotCreateDirectory: .cannotCreateDirectory
            case .inputOutput, .badJournal: .fileIO
            case .digestMismatch: .checksumMismatch
            }
        self.init(code, error.message, isRetryable: error.code == .tooManyFiles)
        self.isShortage = error.code == .tooManyFiles
    }
}

extension TransferFailure {
    /// Converts a transport error into a failure of a transfer.
    public init(_ error: TransportError) {
        let (code, isRetryable): (Code, Bool) =
            switch error.code {
            case .nameResolution: (.nameResolution, true)
            case .unknownName: (.nameResolution, false)
            case .connectTimeout: (.timeout, true)
            case .refused: (.connectionRefused, true)
            case .unreachable: (.hostUnreachable, true)
            case .reset: (.connectionReset, true)
            case .tls: (.tlsHandshake, true)
            case .certificateExpired: (.certificateExpired, false)
            case .certificateWrongHost: (.certificateWrongHost, false)
            case .certificateUnknownAuthority: (.certificateUnknownAuthority, false)
            case .certificate: (.certificate, false)
            case .proxySettings: (.badOption, false)
            case .proxyAuthentication: (.authentication, false)
            case .content: (.fileIO, false)
            case .malformed, .headTooLarge: (.badResponse, true)
            case .connect, .broken, .truncated, .localResource, .cancelled, .proxyRefused: (.network, true)
            }
        self.init(code, error.message, remedy: error.remedy, setting: error.setting, isRetryable: isRetryable)
        self.evidence = OutageCause(error.code).map { OutageEvidence($0, peer: error.peer) }
        self.isShortage = error.code == .localResource
    }
}

extension OutageCause {
    /// The cause of an outage that an error is evidence of, if it is.
    init?(_ code: TransportError.Code) {
        switch code {
        case .nameResolution: self = .resolver
        case .refused: self = .refused
        case .unreachable: self = .unreachable
        case .connectTimeout: self = .timeout
        case .connect: self = .connect
        case .reset, .broken, .truncated: self = .broken
        case .unknownName, .tls, .certificateExpired, .certificateWrongHost, .certificateUnknownAuthority,
            .certificate, .malformed, .headTooLarge, .cancelled, .localResource, .proxyAuthentication, .proxyRefused,
            .proxySettings, .content:
            return nil
        }
    }
}

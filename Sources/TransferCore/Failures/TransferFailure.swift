// SPDX-License-Identifier: Apache-2.0
/// The failure of a transfer or of an attempt.
public struct TransferFailure: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// The raw values are stable: they are stored, and are the `reason` in events and records.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// Anything else.
        case unknown
        case timeout
        /// The resource does not exist (404, 410).
        case notFound = "not-found"
        /// The rate is below the configured minimum.
        case tooSlow = "too-slow"
        /// The host's or the proxy's name could not be resolved.
        case nameResolution = "name-resolution"
        /// The host refused the connection: nothing listens on the port, or a firewall rejects it.
        case connectionRefused = "connection-refused"
        /// The host cannot be routed to, or the network is down.
        case hostUnreachable = "host-unreachable"
        /// The peer reset the connection.
        case connectionReset = "connection-reset"
        /// The TLS handshake failed for a reason other than a certificate.
        case tlsHandshake = "tls-handshake"
        /// The server's certificate has expired or is not valid yet.
        case certificateExpired = "certificate-expired"
        /// The server's certificate is for another host.
        case certificateWrongHost = "certificate-wrong-host"
        /// No trusted authority signed the server's certificate.
        case certificateUnknownAuthority = "certificate-unknown-authority"
        /// Another problem with a certificate: a pin that differs, or a client certificate that is missing or refused.
        case certificate
        /// Another network failure.
        case network
        /// The server does not support resuming, which was required.
        case cannotResume = "cannot-resume"
        /// No space on the device.
        case noSpace = "no-space"
        case fileExists = "file-exists"
        /// Another process is downloading the file.
        case inUse = "in-use"
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
        /// Too many redirects, or a refused redirect.
        case redirects
        /// Authentication failed (401, 407).
        case authentication
        /// A bad option or argument.
        case badOption = "bad-option"
        /// The server is overloaded or in maintenance.
        case overloaded
        /// A digest does not match.
        case checksumMismatch = "checksum-mismatch"
        /// The body is larger than its receiver accepts.
        case tooLarge = "too-large"
        /// The origin's `robots.txt` denies the request.
        case robotsDenied = "robots-denied"
        /// The address of the host must not be used, such as one of a private network.
        case addressDenied = "address-denied"
    }

    /// The kind of failure.
    public var code: Code

    /// Whether the server is overloaded, or limits requests, and requests a retry later.
    package var isThrottled: Bool { self.status == 429 || self.status == 503 }

    /// A description of the failure and its location.
    public var message: String
    /// How to fix it; may be empty.
    public var remedy: String
    /// The setting that may help; each program has its own name for it.
    public var setting: Setting?
    /// Whether another attempt may succeed.
    public var isRetryable: Bool
    /// The status of the response that caused it, if any.
    public var status: Int?
    /// The delay in seconds that the server requested, if any.
    public var retryAfter: Int64?
    /// The evidence of an outage, if it is one.
    package var evidence: OutageEvidence?
    /// Whether this machine had too few file descriptors or ports for it: fewer concurrent transfers need fewer.
    package var isShortage = false
    /// Whether the file system is full or read-only: the transfer waits for it.
    package var concernsFileSystem = false
    /// The file that another process is downloading, if the transfer waits for its end.
    package var awaitedFile: FileTarget?
    /// Whether the response is not in the library's cache, and the network must not be used; the code is `unknown`.
    package var isNotCached = false
    /// The response that caused it, if the transfer has a policy that may need it.
    public var response: FailedResponse?

    /// The failure of a request that must not be repeated, and that was interrupted before its response.
    package static let mayBeProcessed = TransferFailure(
        .cannotResume,
        "the request was interrupted after all its content was sent, and the server may have processed it",
        remedy: "check the server before sending it again"
    )

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

    /// How to fix it, with the program's name of the setting; may be empty.
    public func remedy(naming name: (Setting) -> String) -> String {
        let parts = [self.remedy, self.setting.map(name) ?? ""]
        return parts.filter { !$0.isEmpty }.joined(separator: ", or ")
    }

    /// What failed, where, and how to fix it, without the name of a setting.
    public var description: String { self.remedy.isEmpty ? self.message : "\(self.message); \(self.remedy)" }

    /// The setting that can prevent the failure.
    public enum Setting: Sendable, Hashable, CaseIterable {
        /// The rule for a file name that is taken.
        case existingFiles
        /// The rule for a file that another process is downloading.
        case runningDownloads
        /// The timeout of the whole transfer.
        case resourceTimeout
        case connectTimeout
        /// The trusted authorities.
        case trust
        case credentials
        /// The client's certificate and its key.
        case clientCertificate
        /// The number of concurrent transfers or connections.
        case concurrency
        /// The maximum duration of an outage.
        case outageTimeout
        case lowestRate
        /// The addresses that may be used.
        case addresses
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
            case .inUse: .inUse
            case .cannotOpen, .tooManyFiles: .cannotOpen
            case .cannotCreateDirectory: .cannotCreateDirectory
            case .inputOutput, .badJournal: .fileIO
            case .digestMismatch: .checksumMismatch
            }
        self.init(code, error.message, isRetryable: error.code == .tooManyFiles || error.concernsFileSystem)
        self.concernsFileSystem = error.concernsFileSystem
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
            case .notCached: (.unknown, false)
            case .robotsDenied: (.robotsDenied, false)
            case .addressDenied: (.addressDenied, false)
            case .robotsUnavailable: (.overloaded, true)
            case .malformed, .headTooLarge: (.badResponse, true)
            case .onlyHTTP2: (.badResponse, false)
            case .connect, .broken, .truncated, .localResource, .cancelled, .proxyRefused: (.network, true)
            }
        self.init(code, error.message, remedy: error.remedy, setting: error.setting, isRetryable: isRetryable)
        self.retryAfter = error.retryAfter
        self.evidence = OutageCause(error.code).map { OutageEvidence($0, peer: error.peer) }
        // One response is enough, because every request of the host depends on it.
        self.evidence?.concernsHost = error.code == .robotsUnavailable
        self.isShortage = error.code == .localResource
        self.isNotCached = error.code == .notCached
    }
}

extension OutageCause {
    /// Creates the cause of an outage for which an error is evidence; `nil` if it is not.
    init?(_ code: TransportError.Code) {
        switch code {
        case .nameResolution: self = .resolver
        case .refused: self = .refused
        case .unreachable: self = .unreachable
        case .connectTimeout: self = .timeout
        case .connect: self = .connect
        case .reset, .broken, .truncated: self = .broken
        case .robotsUnavailable: self = .errors
        case .unknownName, .tls, .certificateExpired, .certificateWrongHost, .certificateUnknownAuthority,
            .certificate, .malformed, .onlyHTTP2, .headTooLarge, .cancelled, .localResource, .proxyAuthentication,
            .proxyRefused,
            .proxySettings, .content, .notCached, .robotsDenied, .addressDenied:
            return nil
        }
    }
}

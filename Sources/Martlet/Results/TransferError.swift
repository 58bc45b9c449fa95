// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

/// The error of a task that failed or could not be made.
public struct TransferError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case badURL, badRequest, badDestination, badConfiguration, badResumeData
            case timeout, nameResolution, network, certificate, authentication, redirect, httpStatus, badResponse
            case fileExists, fileInUse, noSpace, file, checksumMismatch, cannotResume, bodyTooLarge
            case cancelled, becameDownload, invalidated, queueClosed, fileWasHandedOut, wouldDeadlock, unknown
            case listDamaged, listInUse, listTooNew
            case sessionInUse, daemonUnavailable
            case notCached
        }

        private let value: Value

        private init(_ value: Value) { self.value = value }

        /// The URL is invalid or not supported.
        public static let badURL = Code(.badURL)
        /// The request is invalid.
        public static let badRequest = Code(.badRequest)
        /// The destination cannot be used: it has no file name, or another task writes to it.
        public static let badDestination = Code(.badDestination)
        /// The session's configuration cannot be used.
        public static let badConfiguration = Code(.badConfiguration)
        /// The resume data is damaged, or of another version.
        public static let badResumeData = Code(.badResumeData)
        /// The request timeout or the resource timeout expired.
        public static let timeout = Code(.timeout)
        /// The host's name could not be resolved.
        public static let nameResolution = Code(.nameResolution)
        /// The connection or its TLS handshake failed, or the connection broke; see ``TransferError/networkFailure``.
        public static let network = Code(.network)
        /// A certificate is the cause: the server's is not trusted, has expired or is for another host, a pin does not
        /// match, or the client's is missing or refused; see ``TransferError/networkFailure``.
        public static let certificate = Code(.certificate)
        /// The server or the proxy requires different credentials.
        public static let authentication = Code(.authentication)
        /// Too many redirects, or a redirect that Martlet does not follow.
        public static let redirect = Code(.redirect)
        /// The server responded with a status other than success; see ``TransferError/status``.
        public static let httpStatus = Code(.httpStatus)
        /// The response violates HTTP.
        public static let badResponse = Code(.badResponse)
        /// The destination file exists.
        public static let fileExists = Code(.fileExists)
        /// Another process, or another session, is downloading to the destination.
        public static let fileInUse = Code(.fileInUse)
        /// No space is left on the device.
        public static let noSpace = Code(.noSpace)
        /// A file could not be created, read or written.
        public static let file = Code(.file)
        /// A digest does not match.
        public static let checksumMismatch = Code(.checksumMismatch)
        /// The server does not send the missing part.
        public static let cannotResume = Code(.cannotResume)
        /// The body is larger than the task may keep in memory.
        public static let bodyTooLarge = Code(.bodyTooLarge)
        /// The cache policy does not allow a request to the server, and no usable response is stored.
        public static let notCached = Code(.notCached)
        /// The task was cancelled.
        public static let cancelled = Code(.cancelled)
        /// The data task continued as a download task.
        public static let becameDownload = Code(.becameDownload)
        /// The session accepts no more tasks.
        public static let invalidated = Code(.invalidated)
        /// The queue accepts no more items.
        public static let queueClosed = Code(.queueClosed)
        /// The list of downloads is damaged; its file was renamed.
        public static let listDamaged = Code(.listDamaged)
        /// The list of downloads is already open.
        public static let listInUse = Code(.listInUse)
        /// The list of downloads was written by a newer version.
        public static let listTooNew = Code(.listTooNew)
        /// Another program has the background session open.
        public static let sessionInUse = Code(.sessionInUse)
        /// The daemon could not be started or reached, or no longer knows the transfer.
        public static let daemonUnavailable = Code(.daemonUnavailable)
        /// The temporary file was passed to the task's delegates and handlers, and is deleted.
        public static let fileWasHandedOut = Code(.fileWasHandedOut)
        /// A blocking call on a thread that must not block.
        public static let wouldDeadlock = Code(.wouldDeadlock)
        /// Any other failure.
        public static let unknown = Code(.unknown)

        /// The code's name.
        public var description: String { self.value.rawValue }

        /// The code with this name; `unknown` if there is none.
        static func named(_ name: String) -> Code { Code(Value(rawValue: name) ?? .unknown) }
    }

    /// The error's content: one block behind one reference, because results with an error are copied often.
    private final class Contents: Sendable {
        let code: Code
        let message: String
        let remedy: String
        let isRetryable: Bool
        let response: TransferResponse?
        let body: [UInt8]
        let status: Int?
        let resumeData: ResumeData?
        let networkFailure: TransferError.NetworkFailure?

        init(
            _ code: Code,
            _ message: String,
            _ remedy: String,
            isRetryable: Bool,
            response: TransferResponse?,
            body: [UInt8],
            status: Int?,
            resumeData: ResumeData?,
            networkFailure: TransferError.NetworkFailure?
        ) {
            self.code = code
            self.message = message
            self.remedy = remedy
            self.isRetryable = isRetryable
            self.response = response
            self.body = body
            self.status = status
            self.resumeData = resumeData
            self.networkFailure = networkFailure
        }
    }

    private let contents: Contents

    /// The kind of failure.
    public var code: Code { self.contents.code }
    /// The precise failure if the code is ``Code/network`` or ``Code/certificate``, otherwise `nil`.
    public var networkFailure: TransferError.NetworkFailure? { self.contents.networkFailure }
    /// What failed, and where.
    public var message: String { self.contents.message }
    /// How to fix it; may be empty.
    public var remedy: String { self.contents.remedy }
    /// Whether a later attempt may succeed.
    public var isRetryable: Bool { self.contents.isRetryable }
    /// The response that caused the error, if any.
    public var response: TransferResponse? { self.contents.response }
    /// The first bytes of that response's body, at most 16 KiB.
    public var body: [UInt8] { self.contents.body }
    /// Data for resuming a download, if a partial file was kept.
    public var resumeData: ResumeData? { self.contents.resumeData }

    /// The status of the response that caused the error, if any.
    public var status: Int? { self.response?.status ?? self.contents.status }
    /// The standard name of the status (RFC 9110 §15), or `nil`.
    public var reasonPhrase: String? { self.status.map { ReasonPhrase.of($0) } }
    /// The first bytes of the response's body as text; invalid UTF-8 is repaired.
    public var bodyText: String { String(decoding: self.body, as: UTF8.self) }

    /// The message and the remedy.
    public var description: String { self.remedy.isEmpty ? self.message : "\(self.message); \(self.remedy)" }

    package init(
        _ code: Code,
        _ message: String,
        remedy: String = "",
        isRetryable: Bool = false,
        status: Int? = nil,
        networkFailure: TransferError.NetworkFailure? = nil
    ) {
        // An earlier version stored certificate failures as those of the network.
        let isCertificate = code == .network && networkFailure?.isCertificate == true
        self.contents = Contents(
            isCertificate ? .certificate : code,
            message,
            remedy,
            isRetryable: isRetryable,
            response: nil,
            body: [],
            status: status,
            resumeData: nil,
            networkFailure: code == .network
                ? networkFailure ?? .other : code == .certificate ? networkFailure ?? .certificate : nil
        )
    }

    init(_ failure: TransferFailure) {
        let isStatus = (failure.response?.head.status ?? failure.status).map { !(200..<300).contains($0) } ?? false
        let code = failure.isNotCached ? .notCached : Self.code(failure.code, isStatus: isStatus)
        self.contents = Contents(
            code,
            failure.message,
            Self.remedy(failure),
            isRetryable: failure.isRetryable,
            response: failure.response.map { TransferResponse(url: $0.url, head: $0.head, expectedLength: nil) },
            body: failure.response?.prefix ?? [],
            status: failure.status,
            resumeData: nil,
            networkFailure: code == .network || code == .certificate
                ? TransferError.NetworkFailure(of: failure.code) : nil
        )
    }

    /// The same error, with resume data.
    init(_ error: TransferError, resumeData: ResumeData?) {
        self.contents = Contents(
            error.code,
            error.message,
            error.remedy,
            isRetryable: error.isRetryable,
            response: error.response,
            body: error.body,
            status: error.contents.status,
            resumeData: resumeData,
            networkFailure: error.networkFailure
        )
    }

    private static func remedy(_ failure: TransferFailure) -> String {
        if failure.code == .authentication {
            return "set credentials in the configuration, or handle the challenge in a delegate"
        }
        return failure.remedy { setting in
            switch setting {
            case .existingFiles: "set another rule for existing files in the destination"
            case .runningDownloads: ""
            case .resourceTimeout: "increase the resource timeout"
            case .connectTimeout: "increase the connect timeout"
            case .trust: "add its certificate authority to the configuration's TLS options"
            case .credentials: "set credentials in the configuration"
            case .clientCertificate: "set a client certificate in the configuration's TLS options"
            case .concurrency: "run fewer tasks concurrently"
            case .outageTimeout, .lowestRate, .addresses: ""
            }
        }
    }

    private static func code(_ code: TransferFailure.Code, isStatus: Bool) -> Code {
        switch code {
        case .authentication: .authentication
        case .redirects: .redirect
        case _ where isStatus: .httpStatus
        case .timeout, .tooSlow: .timeout
        case .nameResolution: .nameResolution
        case .connectionRefused, .hostUnreachable, .connectionReset, .tlsHandshake, .network: .network
        case .certificateExpired, .certificateWrongHost, .certificateUnknownAuthority, .certificate: .certificate
        case .notFound, .overloaded: .httpStatus
        case .badResponse: .badResponse
        case .cannotResume: .cannotResume
        case .noSpace: .noSpace
        case .fileExists: .fileExists
        case .inUse: .fileInUse
        case .cannotOpen, .cannotCreate, .fileIO, .cannotCreateDirectory: .file
        case .checksumMismatch: .checksumMismatch
        case .badOption: .badRequest
        case .robotsDenied, .addressDenied: .unknown
        case .tooLarge: .bodyTooLarge
        case .unknown: .unknown
        }
    }

    static let cancelled = TransferError(.cancelled, "the task was cancelled")
}

// SPDX-License-Identifier: Apache-2.0
import Receiver
import TransferCore

/// The validated arguments of `martlet serve`; no file has been read yet.
struct ServePlan: Sendable {
    /// The source of the certificate.
    enum Encryption: Sendable, Equatable {
        case none
        case selfSigned
        case files(certificate: String, key: String)
    }

    /// The destination of the access log.
    enum Log: Sendable, Equatable {
        case none
        case standardError
        case file(String)
    }

    var configuration: ReceiverConfiguration
    var encryption: Encryption
    var log: Log
    var tokenFile: String?
    var credentialFile: String?
    var sharePasswordFile: String?
    /// Whether QR codes are printed; `nil` to print them on a terminal.
    var printsQR: Bool?

    /// Validates the options.
    /// - Throws: ``SyntaxError`` if options are malformed or cannot be used together.
    /// - Throws: ``SyntaxError`` if options are malformed or contradict each other.
    init(_ command: ServeCommand) throws(SyntaxError) {
        let content = command.content
        guard let listen = ListenAddress(parsing: command.address.listen) else {
            throw SyntaxError(
                "\"\(DisplayText.clean(command.address.listen))\" is not an address; use HOST:PORT, [IPV6]:PORT or PORT"
            )
        }
        guard command.directory != nil || !content.share.isEmpty else {
            throw SyntaxError("name a directory to serve, or a file with --share")
        }
        var configuration = ReceiverConfiguration(directory: command.directory)
        configuration.listen = listen
        configuration.takesUploads = !content.readOnly
        configuration.overwrites = content.overwrite
        configuration.servesHidden = content.hidden
        guard !content.readOnly || !content.overwrite else {
            throw SyntaxError("--read-only and --overwrite cannot be used together; leave one out")
        }
        try Self.share(content, &configuration)
        configuration.records = try Self.records(content, sessionCookie: command.access.sessionCookie)
        configuration.sessionCookie = command.access.sessionCookie
        guard HeaderLine.isName(command.access.sessionCookie) else {
            throw SyntaxError("\"\(DisplayText.clean(command.access.sessionCookie))\" is not a cookie name")
        }
        configuration.isPublic = command.access.publicRead
        guard !command.access.publicRead || command.directory != nil else {
            throw SyntaxError("--public-read requires a directory to serve")
        }
        guard let base = BasePath(parsing: command.address.basePath) else {
            throw SyntaxError(
                "\"\(DisplayText.clean(command.address.basePath))\" is not a base path; write /NAME or /NAME/NAME with "
                    + "letters, digits and -._~"
            )
        }
        configuration.basePath = base.prefix
        for proxy in command.address.trustedProxy where TrustedProxies(parsing: [proxy]) == nil {
            throw SyntaxError(
                "\"\(DisplayText.clean(proxy))\" is not the address of a proxy; write an address or a network, such as "
                    + "10.0.0.1 or 10.0.0.0/8"
            )
        }
        configuration.trustedProxies = command.address.trustedProxy
        configuration.allowedHosts = command.access.allowHost
        for origin in command.access.allowOrigin where !RequestPolicy.isOriginPattern(origin) {
            throw SyntaxError(
                "\"\(DisplayText.clean(origin))\" is not an origin; write SCHEME://HOST or SCHEME://HOST:PORT, such as "
                    + "https://app.example"
                    + (origin == "*" ? ": pages of all sites could use the visitors' sign-in" : "")
            )
        }
        configuration.allowedOrigins = command.access.allowOrigin
        configuration.limits = Self.limits(command.limits)
        self.configuration = configuration
        self.encryption = try Self.encryption(command.address)
        self.sharePasswordFile = content.sharePasswordFile
        self.printsQR = content.qr
        guard content.sharePasswordFile == nil || !content.share.isEmpty else {
            throw SyntaxError("--share-password-file requires --share FILE")
        }
        self.tokenFile = command.access.tokenFile
        self.credentialFile = command.access.credentials
        self.log =
            switch command.address.accessLog {
            case "none": .none
            case "-": .standardError
            default: .file(command.address.accessLog)
            }
    }

    private static func share(
        _ content: ServeContentOptions,
        _ configuration: inout ReceiverConfiguration
    ) throws(SyntaxError) {
        let hasLimits = content.shareExpires != nil || content.shareCount != nil
        guard !content.share.isEmpty || content.shareUploads || !hasLimits else {
            throw SyntaxError("--share-expires and --share-count require --share FILE or --share-uploads")
        }
        guard !content.shareUploads || configuration.directory != nil && configuration.takesUploads else {
            throw SyntaxError("--share-uploads requires a directory that takes uploads")
        }
        let lifetime = content.shareExpires.flatMap { $0 > .zero ? $0 : nil }
        configuration.sharesUploads = content.shareUploads
        configuration.shareLifetime = lifetime
        configuration.shareDownloads = content.shareCount
        configuration.shares = content.share.map {
            ShareOffer(path: $0, lifetime: lifetime, downloads: content.shareCount)
        }
    }

    private static func encryption(_ options: ServeAddressOptions) throws(SyntaxError) -> Encryption {
        switch (options.tlsCertificate, options.tlsKey, options.tlsSelfSigned) {
        case (nil, nil, false): return .none
        case (nil, nil, true): return .selfSigned
        case (let certificate?, let key?, false): return .files(certificate: certificate, key: key)
        case (_, _, true): throw SyntaxError("give either --tls-self-signed, or --tls-certificate and --tls-key")
        default: throw SyntaxError("a certificate requires its key; give --tls-certificate and --tls-key together")
        }
    }

    private static func records(
        _ content: ServeContentOptions,
        sessionCookie: String
    ) throws(SyntaxError) -> RecordChoice? {
        guard content.records || !content.recordHeader.isEmpty || !content.recordCookie.isEmpty else { return nil }
        guard !content.recordCookie.contains(sessionCookie) else {
            throw SyntaxError("the session cookie \(sessionCookie) is a credential; choose another cookie")
        }
        do throws(ReceiverError) {
            return try RecordChoice(cookies: content.recordCookie, headers: content.recordHeader)
        } catch {
            throw SyntaxError(error.message)
        }
    }

    /// A time of a hundred years, used for "no limit".
    private static let noLimit = Duration.seconds(100 * 366 * 86400)

    private static func limits(_ options: ServeLimitOptions) -> ReceiverLimits {
        var limits = ReceiverLimits()
        limits.upload = options.maxUpload
        limits.total = options.maxTotal
        if let reserve = options.keepFree { limits.reserve = reserve }
        if let expiry = options.expiry { limits.expiry = expiry > .zero ? expiry : Self.noLimit }
        if let idle = options.idleTimeout { limits.idle = idle > .zero ? idle : Self.noLimit }
        if let total = options.uploadTimeout, total > .zero { limits.uploadTime = total }
        if let rate = options.minRate { limits.slowest = rate }
        if let connections = options.maxConnections { limits.connections = connections }
        if let grace = options.grace { limits.grace = grace }
        return limits
    }
}

// SPDX-License-Identifier: Apache-2.0
/// The configuration of a receiver: what it serves, where, and to which clients.
public struct ReceiverConfiguration: Sendable {
    /// The path of the served directory, or `nil` to serve only shared links.
    public var directory: String?
    /// The address to listen on.
    public var listen = ListenAddress()
    /// The limits for uploads and connections.
    public var limits = ReceiverLimits()
    /// Whether uploads are accepted.
    public var takesUploads = true
    /// Whether an upload may replace a file.
    public var overwrites = false
    /// Whether names that start with a dot are served.
    public var servesHidden = false
    /// The credentials that clients may present.
    public var credentials: [AccessCredential] = []
    /// The name of the session cookie.
    public var sessionCookie = "martlet-session"
    /// Whether requests without credentials may read and list, on any address.
    ///
    /// Only credentials then permit to write, and to make links.
    public var isPublic = false
    /// The path below which a proxy serves the receiver, such as `/files`; empty for none.
    ///
    /// Requests have it, and all URLs in responses.
    public var basePath = ""
    /// The addresses (`10.0.0.1`) and networks (`10.0.0.0/8`) of the proxies that report their clients' addresses by
    /// `Forwarded` or `X-Forwarded-For`.
    public var trustedProxies: [String] = []
    /// Additional accepted values of `Host` on loopback.
    public var allowedHosts: [String] = []
    /// Origins whose pages may write.
    public var allowedOrigins: [String] = []
    /// The certificate, or `nil` for plain HTTP.
    public var certificate: ServerCertificate?
    /// The facts of an upload that are recorded next to the file; `nil` for no record.
    public var records: RecordChoice?
    /// The files to share by links.
    public var shares: [ShareOffer] = []
    /// Whether the sender of an upload gets a link for it.
    public var sharesUploads = false
    /// The lifetime of links for uploads, and of those made by requests that name none; `nil` for no limit.
    public var shareLifetime: Duration?
    /// The maximum number of downloads by links for uploads, and by those made by requests that name none; `nil` for no
    /// limit.
    public var shareDownloads: Int?
    /// The path of the file in which links are stored, or `nil` to forget them when the receiver stops.
    ///
    /// Its directory must exist. One receiver uses it at a time; another one makes no links.
    public var linkStore: String?
    /// The path of the file in which sign-outs are stored, or `nil` to forget them when the receiver stops.
    ///
    /// Its directory must exist. Several receivers can use it: who signs out of one with the same credentials, signs out
    /// of all.
    public var signOutStore: String?
    /// The iterations of the slow hashes for the passwords of links, and for the cookies of sign-ins.
    var passwordRounds = PasswordHash.usualRounds
    var signInRounds = SignInKey.usualRounds
    /// The clock of the limit for guesses.
    var clock: @Sendable () -> ContinuousClock.Instant = { .now }
    /// The number of event loops, or `nil` for one per processor.
    public var loops: Int?

    /// Creates the configuration of a receiver for a directory, on loopback.
    public init(directory: String?) { self.directory = directory }
}

/// What a receiver serves, where, and to whom.
public struct ReceiverConfiguration: Sendable {
    /// The directory, or `nil` where only links are served.
    public var directory: String?
    /// Where it listens.
    public var listen = ListenAddress()
    /// How much it takes.
    public var limits = ReceiverLimits()
    /// Whether files may be sent.
    public var takesUploads = true
    /// Whether an upload may replace a file.
    public var overwrites = false
    /// Whether names that begin with a dot are served.
    public var servesHidden = false
    /// What clients may show to be let in.
    public var credentials: [Credential] = []
    /// The name of the session cookie.
    public var sessionCookie = "martlet-session"
    /// More names for `Host` on loopback.
    public var allowedHosts: [String] = []
    /// Origins whose pages may write.
    public var allowedOrigins: [String] = []
    /// The certificate, or `nil` for plain HTTP.
    public var certificate: ServerCertificate?
    /// Which facts of an upload are kept beside the file; `nil` for none.
    public var records: RecordChoice?
    /// The files to hand over by links.
    public var shares: [ShareOffer] = []
    /// How many loops serve connections, or `nil` for one for each processor.
    public var loops: Int?

    /// A receiver for a directory on loopback.
    public init(directory: String?) { self.directory = directory }
}

/// A file to hand over by a link.
public struct ShareOffer: Sendable, Hashable {
    /// The file's path.
    public var path: String
    /// How long the link is good, or `nil` for as long as the receiver runs.
    public var lifetime: Duration?
    /// How many times the file may be fetched, or `nil` for any number.
    public var downloads: Int?

    /// Creates an offer.
    public init(path: String, lifetime: Duration? = nil, downloads: Int? = nil) {
        self.path = path
        self.lifetime = lifetime
        self.downloads = downloads
    }
}

// SPDX-License-Identifier: Apache-2.0
/// A file to share by a link.
public struct ShareOffer: Sendable, Hashable {
    /// The file's path.
    public var path: String
    /// The lifetime of the link, or `nil` for that of the receiver.
    public var lifetime: Duration?
    /// The maximum number of downloads, or `nil` for no limit.
    public var downloads: Int?
    /// The password that clients must send, or `nil` for none.
    public var password: String?

    /// Creates an offer.
    public init(path: String, lifetime: Duration? = nil, downloads: Int? = nil, password: String? = nil) {
        self.path = path
        self.lifetime = lifetime
        self.downloads = downloads
        self.password = password
    }
}

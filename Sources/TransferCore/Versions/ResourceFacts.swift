// SPDX-License-Identifier: Apache-2.0
/// The facts about a resource, from the response that delivered its bytes.
///
/// The journal stores them with a partial file, so that another process can decide whether to resume it.
public struct ResourceFacts: Hashable, Sendable {
    /// The URL that was requested first, before any redirect, without user information.
    ///
    /// A later process requests it again.
    public var url: String
    /// The URL that responded, without user information and query.
    public var finalURL: String
    /// The length of the whole representation in bytes, or `nil` while unknown.
    public var length: Int64?
    /// `ETag` as sent, weak and malformed ones included.
    public var entityTag: String?
    /// `Last-Modified` as sent.
    public var lastModified: String?
    /// `Date` of that response, as sent.
    public var date: String?
    /// The time at which the response was received, by this machine's clock, in seconds since 1970.
    public var received: Int64?
    /// `Content-Encoding` as sent, unless it is identity.
    public var contentEncoding: String?
    /// The media type in lower case, without parameters.
    public var mediaType: String?
    /// `Repr-Digest` as sent: the digest of the whole representation (RFC 9530 §3).
    public var representationDigest: String?
    /// The evidence that all bytes so far are of one version, or `nil` if they are all from one response.
    public var consistency: Consistency?
    /// Whether an earlier version was observed again after another: then all bytes must be from one response.
    public var isUnreliable = false
    /// The validators of earlier versions that this one replaced, oldest first; at most ``formerLimit``.
    public var formerVersions: [String] = []
    /// Whether a comparison with a response of the bytes' own URL found them different: they are never continued.
    package var isContradicted = false
    /// The other URLs whose responses were compared with the bytes and found different; at most ``differingLimit``.
    ///
    /// They never continue the bytes, and validators alone no longer show that another response does.
    package var differing: [String] = []

    /// The user's file whose copy the bytes continue, as ``ExistingFile/identity``; `nil` if they are not a copy.
    ///
    /// Only this file is replaced by the finished one.
    package var continued: String?

    /// The maximum number of earlier versions recorded.
    public static let formerLimit = 4

    /// The maximum number of differing URLs recorded; with more, the bytes are contradicted.
    package static let differingLimit = 8

    /// Creates the facts.
    public init(
        url: String,
        finalURL: String = "",
        length: Int64? = nil,
        entityTag: String? = nil,
        lastModified: String? = nil,
        date: String? = nil,
        received: Int64? = nil,
        contentEncoding: String? = nil,
        mediaType: String? = nil,
        representationDigest: String? = nil
    ) {
        self.url = url
        self.finalURL = finalURL
        self.length = length
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.date = date
        self.received = received
        self.contentEncoding = contentEncoding
        self.mediaType = mediaType
        self.representationDigest = representationDigest
    }

    /// Creates the facts from a response's header fields.
    ///
    /// - Parameters:
    ///   - url: The URL that was requested, without user information.
    ///   - finalURL: The URL that responded, without user information and query.
    ///   - length: The length of the whole representation, if the response declares it.
    ///   - fields: The response's header fields.
    ///   - received: The time of reception, in seconds since 1970.
    ///   - includesMediaType: Whether the media type is needed; it is not if the response's bytes are not continued.
    public init(
        url: String,
        finalURL: String = "",
        length: Int64?,
        fields: HeaderFields,
        received: Int64?,
        includesMediaType: Bool = true
    ) {
        let encoding = fields["Content-Encoding"]?.lowercased()
        self.init(
            url: url,
            finalURL: finalURL,
            length: length,
            entityTag: fields["ETag"],
            lastModified: fields["Last-Modified"],
            date: fields["Date"],
            received: received,
            contentEncoding: encoding == "identity" || encoding == "" ? nil : encoding,
            mediaType: includesMediaType ? fields["Content-Type"].flatMap(Self.mediaType) : nil,
            representationDigest: fields.joined("Repr-Digest")
        )
    }

    /// Records that a comparison with a response of this URL found the bytes different.
    package mutating func recordDifference(from url: String) {
        if url == self.url || self.differing.count == Self.differingLimit {
            self.isContradicted = true
        } else if !self.differing.contains(url) {
            self.differing.append(url)
        }
    }

    /// Whether a comparison showed that the bytes must not be continued by a response of this URL.
    package func isContradicted(by url: String) -> Bool { self.isContradicted || self.differing.contains(url) }

    private static func mediaType(_ field: String) -> String? {
        let type = field.utf8.prefix { $0 != 0x3B && $0 != 0x20 && $0 != 0x09 }
        return type.isEmpty ? nil : String(decoding: type.map(ASCII.lowercase), as: UTF8.self)
    }
}

/// The evidence that all bytes of a finished file are of one version of the resource.
public enum Consistency: String, Hashable, Sendable, CaseIterable {
    /// A digest of the whole was compared.
    case digest
    /// All bytes were sent in one response.
    case singleResponse = "single-response"
    /// All responses carried the same strong entity tag.
    case entityTag = "etag"
    /// All responses carried the same strong Last-Modified.
    case lastModified = "last-modified"
    /// A response's first bytes were compared with the preceding bytes: a heuristic.
    case overlap

    /// The weaker of two, for held bytes.
    ///
    /// A digest is the weakest until it has been compared, because without the comparison it proves nothing.
    public func combined(with other: Consistency) -> Consistency {
        self.weakness >= other.weakness ? self : other
    }

    private var weakness: Int {
        switch self {
        case .singleResponse: 0
        case .entityTag: 1
        case .lastModified: 2
        case .overlap: 3
        case .digest: 4
        }
    }
}

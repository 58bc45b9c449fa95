// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The description of a resumable upload, stored as its record.
///
/// The upload's offset is the length of its partial file.
struct ResumableUpload: Sendable, Hashable {
    var name: UploadName
    /// The destination of the file.
    var place: LandingPlace
    /// The complete length in bytes, if known.
    var length: Int64?
    /// The time of creation, in seconds since 1970.
    var created: Int64
    /// The facts that the client announced about the file.
    var facts: UploadFacts
    /// The value of tus's `Upload-Metadata` as sent.
    var metadata: String?
    /// The conditional request fields of the request that created the upload.
    var conditions: [JSON.Member] = []
    /// The value of `Repr-Digest` as sent: the digest of the complete representation (RFC 9530 §3).
    var digest: String?
    /// Whether the upload is complete once it has its length, as in tus, which has no other end marker.
    var endsByLength = false
    /// The path of the file after it has landed.
    var landed: String?

    /// The record stored next to the partial file.
    var json: JSON {
        .object([
            JSON.Member("version", 1), JSON.Member("directory", .array(self.place.directory.map { .string($0) })),
            JSON.Member("name", .string(self.place.name)), JSON.Member("mayRename", .bool(self.place.mayRename)),
            JSON.Member("length", .optional(self.length)), JSON.Member("created", .integer(self.created)),
            JSON.Member("facts", self.facts.json), JSON.Member("metadata", .optional(self.metadata)),
            JSON.Member("endsByLength", .bool(self.endsByLength)), JSON.Member("digest", .optional(self.digest)),
            JSON.Member("conditions", .object(self.conditions)),
            JSON.Member("landed", .optional(self.landed)),
        ])
    }

    init(
        name: UploadName,
        place: LandingPlace,
        length: Int64?,
        created: Int64,
        facts: UploadFacts,
        metadata: String? = nil,
        conditions: [JSON.Member] = [],
        endsByLength: Bool = false
    ) {
        self.name = name
        self.place = place
        self.length = length
        self.created = created
        self.facts = facts
        self.metadata = metadata
        self.conditions = conditions
        self.endsByLength = endsByLength
    }

    /// Extracts the conditional fields of a request.
    static func conditions(of fields: HeaderFields) -> [JSON.Member] {
        ["If-Match", "If-None-Match", "If-Unmodified-Since"]
            .compactMap { name in
                fields.joined(name).map { JSON.Member(name, .string($0)) }
            }
    }

    /// The conditions as request header fields.
    var conditionFields: HeaderFields {
        HeaderFields(self.conditions.compactMap { member in member.value.string.map { (member.name, $0) } })
    }

    /// Parses a record written by ``json``; `nil` if it is not one.
    init?(name: UploadName, json: JSON) {
        guard json["version"]?.integer == 1, let directory = json["directory"]?.array,
            let last = json["name"]?.string, let mayRename = json["mayRename"]?.bool,
            let created = json["created"]?.integer
        else { return nil }
        let length = json["length"]?.integer
        guard length ?? 0 >= 0 else { return nil }
        self.name = name
        self.place = LandingPlace(directory: directory.compactMap(\.string), name: last, mayRename: mayRename)
        self.length = length
        self.created = created
        self.facts = UploadFacts(json: json["facts"])
        self.metadata = json["metadata"]?.string
        self.conditions = json["conditions"]?.object ?? []
        self.endsByLength = json["endsByLength"]?.bool ?? false
        self.digest = json["digest"]?.string
        self.landed = json["landed"]?.string
    }
}

/// The state of an upload.
struct UploadStanding: Sendable {
    var upload: ResumableUpload
    /// The number of bytes on disk.
    var offset: Int64
    /// Whether the upload is complete and has landed.
    var isComplete: Bool
    /// The time of expiry, in seconds since 1970.
    var expires: Int64
}

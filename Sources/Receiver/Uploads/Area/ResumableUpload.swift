internal import Control
internal import TransferCore

/// An upload that can be gone on with: what it is to become.
///
/// Its offset is the length of its partial file.
struct ResumableUpload: Sendable, Hashable {
    /// Its name.
    var name: UploadName
    /// Where it goes.
    var place: LandingPlace
    /// Its whole length, where it is known.
    var length: Int64?
    /// When it was begun, seconds since 1970.
    var created: Int64
    /// What is known of it.
    var facts: UploadFacts
    /// tus's metadata as they were sent.
    var metadata: String?
    /// The conditions that the request which began it put on the file's state.
    var conditions: [JSON.Member] = []
    /// `Repr-Digest` as it was sent: what the whole must have (RFC 9530 §3).
    var digest: String?
    /// Whether it is whole when it has its length: tus has no other sign.
    var endsByLength = false
    /// The path of the file where it has landed.
    var landed: String?

    /// The record as it lies beside the partial file.
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

    /// What of a request's fields are conditions for a change.
    static func conditions(of fields: HTTPFields) -> [JSON.Member] {
        let names: [(String, StaticString)] = [
            ("If-Match", "If-Match"), ("If-None-Match", "If-None-Match"),
            ("If-Unmodified-Since", "If-Unmodified-Since"),
        ]
        return names.compactMap { name, field in fields.joined(field).map { JSON.Member(name, .string($0)) } }
    }

    /// The conditions as fields of a request.
    var conditionFields: HTTPFields {
        HTTPFields(self.conditions.compactMap { member in member.value.string.map { (member.name, $0) } })
    }

    /// Reads what ``json`` wrote; `nil` where it is something else.
    init?(name: UploadName, json: JSON) {
        guard json["version"]?.integer == 1, let directory = json["directory"]?.array,
            let last = json["name"]?.string, let mayRename = json["mayRename"]?.bool,
            let created = json["created"]?.integer
        else { return nil }
        self.name = name
        self.place = LandingPlace(directory: directory.compactMap(\.string), name: last, mayRename: mayRename)
        self.length = json["length"]?.integer
        self.created = created
        self.facts = UploadFacts(json: json["facts"])
        self.metadata = json["metadata"]?.string
        self.conditions = json["conditions"]?.object ?? []
        self.endsByLength = json["endsByLength"]?.bool ?? false
        self.digest = json["digest"]?.string
        self.landed = json["landed"]?.string
    }
}

/// Where an upload stands.
struct UploadStanding: Sendable {
    /// What it is.
    var upload: ResumableUpload
    /// How much of it is on disk.
    var offset: Int64
    /// Whether it is whole and in its place.
    var isComplete: Bool
    /// When it ends by itself, seconds since 1970.
    var expires: Int64
}

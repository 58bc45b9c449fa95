internal import Control
internal import TransferCore

/// What is known of an upload beside its bytes.
struct UploadFacts: Sendable, Hashable {
    /// The name it had where it came from, as the client says.
    var originalName: String?
    /// The media type, as the client says.
    var type: String?
    /// The address of the sender.
    var address: String
    /// Who the sender is, where credentials say so.
    var user: String?
    /// Chosen header fields.
    var headers: [JSON.Member] = []
    /// Chosen cookies.
    var cookies: [JSON.Member] = []
    /// Fields of a form, and what else the protocol brings.
    var fields: [JSON.Member] = []

    /// Takes what is chosen of a request.
    init(_ request: Request, originalName: String?, type: String?, choice: RecordChoice?) {
        self.originalName = originalName
        self.type = type
        self.address = request.peer
        self.user = request.user
        guard let choice else { return }
        for name in choice.headers {
            let values = request.head.fields.pairs.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
            if !values.isEmpty { self.headers.append(JSON.Member(name, .string(values.joined(separator: ", ")))) }
        }
        for cookie in RequestCookies.all(request.head.fields) where choice.cookies.contains(cookie.name) {
            self.cookies.append(JSON.Member(cookie.name, .string(cookie.value)))
        }
    }

    /// The facts as they are kept with an unfinished upload.
    var json: JSON {
        .object([
            JSON.Member("originalName", .optional(self.originalName)), JSON.Member("type", .optional(self.type)),
            JSON.Member("address", .string(self.address)), JSON.Member("user", .optional(self.user)),
            JSON.Member("headers", .object(self.headers)), JSON.Member("cookies", .object(self.cookies)),
            JSON.Member("fields", .object(self.fields)),
        ])
    }

    /// Reads what ``json`` wrote.
    init(json: JSON?) {
        self.originalName = json?["originalName"]?.string
        self.type = json?["type"]?.string
        self.address = json?["address"]?.string ?? "-"
        self.user = json?["user"]?.string
        self.headers = json?["headers"]?.object ?? []
        self.cookies = json?["cookies"]?.object ?? []
        self.fields = json?["fields"]?.object ?? []
    }

    /// The record that lies beside the file.
    func record(of file: LandedFile, received: Int64) -> JSON {
        .object([
            JSON.Member("name", .optional(file.path.name)),
            JSON.Member("originalName", .optional(self.originalName)),
            JSON.Member("type", .optional(self.type)),
            JSON.Member("size", .integer(file.facts.length)),
            JSON.Member("received", .string(Timestamp.text(received))),
            JSON.Member(
                "sender",
                .object([
                    JSON.Member("address", .string(self.address)), JSON.Member("user", .optional(self.user)),
                ])
            ),
            JSON.Member("headers", .object(self.headers)), JSON.Member("cookies", .object(self.cookies)),
            JSON.Member("fields", .object(self.fields)),
        ])
    }
}

extension UploadArea {
    /// Writes the record beside a file that has landed, where records are kept; blocks.
    ///
    /// For the owner alone (mode 0600). A record that cannot be written does not undo the upload: the bytes are worth more.
    func writeRecord(_ facts: UploadFacts, of file: LandedFile) {
        guard self.records != nil, let name = file.path.name else { return }
        let bytes = facts.record(of: file, received: Timestamp.now).bytes + [0x0A]
        // Of two that landed under one name, the later one's record is written last, or alone.
        let lock = self.recordLocks[Int(name.hashValue.magnitude % UInt(self.recordLocks.count))]
        lock.hold {
            guard self.isCurrent(file) else { return }
            self.writeOwn(bytes, as: ServedTree.recordName(name), in: file.path.parent)
        }
    }
}

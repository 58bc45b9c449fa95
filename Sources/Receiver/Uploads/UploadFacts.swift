// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The metadata of an upload.
struct UploadFacts: Sendable, Hashable {
    /// The original name, as stated by the client.
    var originalName: String?
    /// The media type, as stated by the client.
    var type: String?
    /// The sender's address.
    var address: String
    /// The authenticated user, if the credentials name one.
    var user: String?
    /// The header fields selected by the configuration.
    var headers: [JSON.Member] = []
    /// The cookies selected by the configuration.
    var cookies: [JSON.Member] = []
    /// The fields of a form, and other metadata from the protocol.
    var fields: [JSON.Member] = []

    /// Extracts the selected facts from a request.
    init(_ request: Request, originalName: String?, type: String?, choice: RecordChoice?) {
        self.originalName = originalName
        self.type = type
        self.address = request.peer
        self.user = request.user
        guard let choice else { return }
        for name in choice.headers {
            let values = request.head.fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
            if !values.isEmpty { self.headers.append(JSON.Member(name, .string(values.joined(separator: ", ")))) }
        }
        for cookie in RequestCookies.all(request.head.fields) where choice.cookies.contains(cookie.name) {
            self.cookies.append(JSON.Member(cookie.name, .string(cookie.value)))
        }
    }

    /// The facts as stored in the record of an unfinished upload.
    var json: JSON {
        .object([
            JSON.Member("originalName", .optional(self.originalName)), JSON.Member("type", .optional(self.type)),
            JSON.Member("address", .string(self.address)), JSON.Member("user", .optional(self.user)),
            JSON.Member("headers", .object(self.headers)), JSON.Member("cookies", .object(self.cookies)),
            JSON.Member("fields", .object(self.fields)),
        ])
    }

    /// Parses the output of ``json``.
    init(json: JSON?) {
        self.originalName = json?["originalName"]?.string
        self.type = json?["type"]?.string
        self.address = json?["address"]?.string ?? "-"
        self.user = json?["user"]?.string
        self.headers = json?["headers"]?.object ?? []
        self.cookies = json?["cookies"]?.object ?? []
        self.fields = json?["fields"]?.object ?? []
    }

    /// The record stored next to the file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - digest: Its SHA-256, or `nil` if it could not be read.
    ///   - received: When it was received, seconds since 1970.
    /// - Returns: The record.
    func record(of file: LandedFile, digest: [UInt8]?, received: Int64) -> JSON {
        .object([
            JSON.Member("name", .optional(file.path.name)),
            JSON.Member("originalName", .optional(self.originalName)),
            JSON.Member("type", .optional(self.type)),
            JSON.Member("size", .integer(file.facts.length)),
            JSON.Member("sha256", .optional(digest.map { Hexadecimal.encode($0) })),
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
    /// Writes the record of a landed file, if records are configured; blocks.
    ///
    /// Only the owner can read it (mode 0600). A failure to write the record does not fail the upload.
    ///
    /// - Parameters:
    ///   - facts: The upload's facts.
    ///   - file: The landed file.
    ///   - digest: Returns the SHA-256 of its content.
    func writeRecord(_ facts: UploadFacts, of file: LandedFile, digest: () -> [UInt8]?) {
        guard self.records != nil, let name = file.path.name else { return }
        let bytes = facts.record(of: file, digest: digest(), received: Timestamp.now).bytes + [0x0A]
        // If two files landed under one name, the later one's record is written last, or only that one.
        let lock = self.recordLocks[Int(name.hashValue.magnitude % UInt(self.recordLocks.count))]
        lock.hold {
            guard (try? self.isCurrent(file)) == true else { return }
            self.budget.charge(UploadBudget.cost(Int64(bytes.count)))
            self.writeOwn(bytes, as: ServedTree.recordName(name), in: file.path.parent)
        }
    }
}

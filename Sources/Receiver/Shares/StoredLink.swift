// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import TransferCore

/// A link as it is stored: its file and its limits.
struct StoredLink: Sendable, Hashable {
    /// How a link was made.
    enum Origin: String, Sendable {
        /// By `--share`: it works while a receiver runs that shares the file.
        case option
        /// By a request with credentials.
        case request
        case upload
    }

    /// The unguessable part of the link.
    var token: String
    /// How it was made.
    var origin: Origin
    /// The names of the file's path below the served directory; for ``Origin/option`` one absolute path.
    var path: [String]
    /// The file's size, modification time and number.
    ///
    /// The device and the change time are not compared: the first may differ after a reboot, the second after a chmod(2)
    /// or the rename(2) of an upload.
    var file: FileIdentity
    /// The time of creation, in seconds since 1970.
    var created: Int64
    /// The time of expiry in seconds since 1970, or `nil`.
    var expires: Int64?
    /// The maximum number of downloads, or `nil`.
    var downloads: Int?
    /// The user who made it, if the credentials named one.
    var creator: String?
    /// The resumable upload that it was made for.
    var upload: String?
    /// Whether the upload may have got a numbered name: it was stored before the file was renamed.
    var mayBeRenamed = false
    /// The hash of its password, or `nil` if it has none.
    var password: PasswordHash?
    /// The time of its removal by a user, in seconds since 1970.
    var revoked: Int64?

    /// The name of the file.
    var name: String {
        let last = self.path.last ?? ""
        return self.origin == .option ? String(last.split(separator: "/").last ?? "file") : last
    }

    /// The lifetime in seconds, or `nil`.
    var lifetime: Int64? { self.expires.map { $0.subtracting(clamping: self.created) } }

    /// The path of the link.
    var url: String {
        self.password == nil ? ShareLink.path(token: self.token, name: self.name) : ShareLink.path(token: self.token)
    }

    /// The record of the link.
    var json: JSON {
        .object([
            JSON.Member("token", .string(self.token)), JSON.Member("origin", .string(self.origin.rawValue)),
            JSON.Member("path", .array(self.path.map { .string($0) })), JSON.Member("size", .integer(self.file.size)),
            JSON.Member("modified", .integer(self.file.modified)),
            JSON.Member("inode", .string(String(self.file.inode))), JSON.Member("created", .integer(self.created)),
            JSON.Member("expires", .optional(self.expires)),
            JSON.Member("downloads", .optional(self.downloads.map { Int64($0) })),
            JSON.Member("creator", .optional(self.creator)), JSON.Member("upload", .optional(self.upload)),
            JSON.Member("mayBeRenamed", .bool(self.mayBeRenamed)), JSON.Member("revoked", .optional(self.revoked)),
            JSON.Member("password", .optional(self.password?.text)),
        ])
    }

    /// Parses a record written by ``json``; `nil` if it is not one.
    init?(json: JSON) {
        guard let token = json["token"]?.string, let origin = json["origin"]?.string.flatMap(Origin.init),
            let path = json["path"]?.array?.compactMap(\.string), !path.isEmpty, let size = json["size"]?.integer,
            let modified = json["modified"]?.integer, let inode = json["inode"]?.string.flatMap({ UInt64($0) }),
            let created = json["created"]?.integer
        else { return nil }
        if let text = json["password"]?.string {
            // A link must not lose its password.
            guard let hash = PasswordHash(text: text) else { return nil }
            self.password = hash
        }
        self.token = token
        self.origin = origin
        self.path = path
        self.file = FileIdentity(size: size, modified: modified, changed: nil, device: 0, inode: inode)
        self.created = created
        self.expires = json["expires"]?.integer
        self.downloads = json["downloads"]?.integer.map { Int(clamping: $0) }
        self.creator = json["creator"]?.string
        self.upload = json["upload"]?.string
        self.mayBeRenamed = json["mayBeRenamed"]?.bool ?? false
        self.revoked = json["revoked"]?.integer
    }

    init(
        _ origin: Origin,
        path: [String],
        file: FileIdentity,
        created: Int64,
        lifetime: Duration?,
        downloads: Int?,
        creator: String? = nil,
        upload: String? = nil
    ) {
        self.token = Self.makeToken()
        self.origin = origin
        self.path = path
        self.file = file
        self.created = created
        let (expires, overflow) = created.addingReportingOverflow(lifetime?.components.seconds ?? 0)
        self.expires = lifetime == nil || overflow ? nil : expires
        self.downloads = downloads
        self.creator = creator
        self.upload = upload
    }

    /// Returns 128 random bits as text for a URL.
    static func makeToken() -> String { UploadName().id }
}

extension FileIdentity {
    /// The attributes of a file that a link compares.
    init(linked status: stat) {
        let modified = status.modificationTime
        self.init(
            size: Int64(status.st_size),
            modified: Int64(modified.tv_sec) &* 1_000_000_000 &+ Int64(modified.tv_nsec),
            changed: nil,
            device: 0,
            inode: UInt64(status.st_ino)
        )
    }
}

// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// The content of an upload in the daemon's queue, and how it is sent.
public struct UploadSource: Sendable, Hashable {
    /// A part of the content; the parts are sent in order.
    public enum Part: Sendable, Hashable {
        /// A regular file, complete; its absolute path.
        case file(String)
        /// Bytes, such as those between the files of a form.
        case bytes([UInt8])
    }

    /// The content.
    public var parts: [Part]
    /// Its media type.
    public var type = Self.octets
    /// The URL at which a resumable protocol creates uploads, if it is not the transfer's.
    public var collection: String?
    /// How it resumes after an interruption: `auto`, `none`, `tus`, or an interop version of the IETF draft such as
    /// `ietf-6`.
    public var resumption = "auto"
    /// The algorithm of the digest that is sent with each part, if the server supports tus checksums.
    public var checksum: String?
    /// Whether a large content is sent only after the server's consent (`Expect: 100-continue`).
    public var asksFirst = true
    /// A record of an upload that another program started, to resume it; with it, anyone can append to the upload.
    public var record: [UInt8]?

    /// The media type of unspecified bytes.
    public static let octets = "application/octet-stream"
    /// The maximum number of bytes in ``parts``, without the files: they are stored in the daemon's database.
    public static let mostBytes = 1 << 20

    /// Creates the source of an upload of parts.
    public init(_ parts: [Part]) { self.parts = parts }

    /// The path of the only file, or `nil`.
    public var path: String? {
        guard self.parts.count == 1, case .file(let path)? = self.parts.first else { return nil }
        return path
    }

    /// The paths of all files.
    public var files: [String] {
        self.parts.compactMap { part in if case .file(let path) = part { path } else { nil } }
    }

    /// Whether it is a form, for which the default method is POST.
    public var isForm: Bool { self.type.lowercased().hasPrefix("multipart/form-data") }

    /// The number of bytes in the parts, without the files.
    public var byteCount: Int {
        self.parts.reduce(0) { sum, part in if case .bytes(let bytes) = part { sum + bytes.count } else { sum } }
    }
}

extension UploadSource {
    /// The source as the member `upload` of an entry of `martlet.add`.
    public var json: JSON { self.json(isShown: false) }

    /// The source in the format of `martlet.show`: without bytes and record, which may be secret.
    public var shown: JSON { self.json(isShown: true) }

    private func json(isShown: Bool) -> JSON {
        var members: [JSON.Member] = []
        if let path = self.path {
            members.append(.init("file", .string(path)))
        } else {
            let parts: [JSON] = self.parts.map { part in
                switch part {
                case .file(let path): ["file": .string(path)]
                case .bytes(let bytes):
                    isShown ? ["length": .integer(Int64(bytes.count))] : ["bytes": .string(Base64.encode(bytes))]
                }
            }
            members.append(.init("parts", .array(parts)))
        }
        if self.type != Self.octets { members.append(.init("type", .string(self.type))) }
        if let collection = self.collection { members.append(.init("collection", .string(collection))) }
        if self.resumption != "auto" { members.append(.init("protocol", .string(self.resumption))) }
        if let checksum = self.checksum { members.append(.init("checksum", .string(checksum))) }
        if !self.asksFirst { members.append(.init("expect", false)) }
        if let record = self.record, !isShown { members.append(.init("record", .string(Base64.encode(record)))) }
        return .object(members)
    }

    /// Reads the format of ``json`` or ``shown``; of the latter, parts without bytes are skipped.
    ///
    /// - Returns: `nil` if a member is of another type, or both `file` and `parts` are missing.
    public init?(json: JSON) {
        if let path = json["file"]?.string {
            self.init([.file(path)])
        } else {
            guard let elements = json["parts"]?.array else { return nil }
            var parts: [Part] = []
            for element in elements {
                if let path = element["file"]?.string {
                    parts.append(.file(path))
                } else if let text = element["bytes"]?.string {
                    guard let bytes = Base64.decode(text.utf8) else { return nil }
                    parts.append(.bytes(bytes))
                } else if element["length"] == nil {
                    return nil
                }
            }
            self.init(parts)
        }
        func text(_ name: String) -> String?? {
            guard let value = json[name], !value.isNull else { return .some(nil) }
            return value.string.map { .some($0) }
        }
        guard let type = text("type"), let collection = text("collection"), let resumption = text("protocol"),
            let checksum = text("checksum"), let record = text("record")
        else { return nil }
        self.type = type ?? Self.octets
        self.collection = collection
        self.resumption = resumption ?? "auto"
        self.checksum = checksum
        if let record {
            guard let bytes = Base64.decode(record.utf8) else { return nil }
            self.record = bytes
        }
        if let value = json["expect"], !value.isNull {
            guard let flag = value.bool else { return nil }
            self.asksFirst = flag
        }
    }
}

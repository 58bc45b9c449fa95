/// What is kept of a resumable upload, so that another process goes on with it from the server's offset.
///
/// The offset is not in it: the server is asked, for it alone knows what it has.
public struct UploadRecord: Hashable, Sendable {
    /// The protocol that the upload's resource speaks.
    public var speaks: ResumableProtocol
    /// The URL that the upload was begun at, without user information.
    public var endpoint: String
    /// The URL of the upload's own resource; whoever knows it can add to the upload.
    public var resource: String
    /// The bytes of the whole content.
    public var length: Int64
    /// The files whose bytes are sent, in their order, as they were when it was begun.
    public var files: [FileIdentity]
    /// When the server forgets what it has, seconds since 1970, where it told.
    public var expires: Int64?

    /// Creates a record.
    public init(
        speaks: ResumableProtocol,
        endpoint: String,
        resource: String,
        length: Int64,
        files: [FileIdentity],
        expires: Int64? = nil
    ) {
        self.speaks = speaks
        self.endpoint = endpoint
        self.resource = resource
        self.length = length
        self.files = files
        self.expires = expires
    }
}

extension UploadRecord {
    /// Whether nothing of it is at a server any more: it only says that what it was made from is not to be gone on with.
    package var isVoid: Bool { self.resource.isEmpty }

    /// The same, given up.
    package var voided: UploadRecord {
        var record = self
        record.resource = ""
        return record
    }
}

/// A protocol by which an upload goes on where it broke off.
public enum ResumableProtocol: String, Hashable, Sendable, CaseIterable {
    /// tus 1.0.
    case tus
    /// The IETF's draft, interop version 3.
    case ietf3 = "ietf-3"
    /// The IETF's draft, interop version 5.
    case ietf5 = "ietf-5"
    /// The IETF's draft, interop version 6.
    case ietf6 = "ietf-6"

    /// The number of the draft's interop version, or `nil` for tus.
    package var interopVersion: Int? {
        switch self {
        case .tus: nil
        case .ietf3: 3
        case .ietf5: 5
        case .ietf6: 6
        }
    }
}

extension UploadRecord {
    /// The record as text: a line that names the format, then a name and a value on each line.
    public var encoded: [UInt8] {
        var text = Self.firstLine + "\n"
        text += "protocol \(self.speaks.rawValue)\nendpoint \(self.endpoint)\nresource \(self.resource)\n"
        text += "length \(self.length)\n"
        for file in self.files { text += "file \(file.size) \(file.modified) \(file.device) \(file.inode)\n" }
        if let expires { text += "expires \(expires)\n" }
        return Array((text + "end\n").utf8)
    }

    /// Reads a record; `nil` where the bytes are not a whole one of this format.
    public init?(encoded bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        // The last line is empty, and without the one before it the file was cut off.
        guard lines.count > 2, lines[0] == Self.firstLine, lines[lines.count - 2] == "end" else { return nil }
        var values: [Substring: Substring] = [:]
        var files: [FileIdentity] = []
        for line in lines[1..<lines.count - 2] {
            guard let space = line.firstIndex(of: " ") else { return nil }
            let value = line[line.index(after: space)...]
            guard line[..<space] == "file" else {
                values[line[..<space]] = value
                continue
            }
            let parts = value.split(separator: " ")
            guard parts.count == 4, let size = Int64(parts[0]), let modified = Int64(parts[1]),
                let device = UInt64(parts[2]), let inode = UInt64(parts[3])
            else { return nil }
            files.append(FileIdentity(size: size, modified: modified, device: device, inode: inode))
        }
        guard let speaks = values["protocol"].flatMap({ ResumableProtocol(rawValue: String($0)) }),
            let endpoint = values["endpoint"], let resource = values["resource"],
            let length = values["length"].flatMap({ Int64($0) }), length >= 0
        else { return nil }
        self.init(
            speaks: speaks,
            endpoint: String(endpoint),
            resource: String(resource),
            length: length,
            files: files,
            expires: values["expires"].flatMap { Int64($0) }
        )
    }

    private static let firstLine = "martlet-upload 1"
}

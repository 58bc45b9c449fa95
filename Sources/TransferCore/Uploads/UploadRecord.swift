// SPDX-License-Identifier: Apache-2.0
/// The stored form of a resumable upload, with which another process can resume it.
///
/// It contains no offset: the server reports that.
package struct UploadRecord: Hashable, Sendable {
    /// The protocol of the upload's resource.
    package var speaks: ResumableProtocol
    /// The URL of the upload's first request, without user information.
    package var endpoint: String
    /// The URL of the upload's own resource, a secret: a client that knows it can append to the upload.
    package var resource: String
    /// The length of the whole content in bytes.
    package var length: Int64
    /// The files in order, with their identities at the start of the upload.
    package var files: [FileIdentity]
    /// The expiry time of the upload on the server, in seconds since 1970; `nil` if it was not reported.
    package var expires: Int64?

    package init(
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
    /// Whether the upload was abandoned.
    ///
    /// A void record keeps the next run from resuming the caller's.
    package var isVoid: Bool { self.resource.isEmpty }

    /// This record, marked as abandoned.
    package var voided: UploadRecord {
        var record = self
        record.resource = ""
        return record
    }
}

/// A protocol for resuming an interrupted upload.
public enum ResumableProtocol: String, Hashable, Sendable, CaseIterable {
    /// tus 1.0.
    case tus
    /// The IETF draft, interop version 3.
    case ietf3 = "ietf-3"
    /// The IETF draft, interop version 5.
    case ietf5 = "ietf-5"
    /// The IETF draft, interop version 6.
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
    /// The record as text: a line with the format, then a name and a value on each line.
    ///
    /// A file's change time is a separate line after the file's: earlier versions ignore unknown names, and can still
    /// read the record.
    package var encoded: [UInt8] {
        var text = Self.firstLine + "\n"
        text += "protocol \(self.speaks.rawValue)\nendpoint \(self.endpoint)\nresource \(self.resource)\n"
        text += "length \(self.length)\n"
        for file in self.files {
            text += "file \(file.size) \(file.modified) \(file.device) \(file.inode)\n"
            if let changed = file.changed { text += "changed \(changed)\n" }
        }
        if let expires { text += "expires \(expires)\n" }
        return Array((text + "end\n").utf8)
    }

    /// Parses a record; `nil` if the bytes are not a complete record of this format.
    package init?(encoded bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        // The last line is empty; without the line before it the file is truncated.
        guard lines.count > 2, lines[0] == Self.firstLine, lines[lines.count - 2] == "end" else { return nil }
        var values: [Substring: Substring] = [:]
        var files: [FileIdentity] = []
        for line in lines[1..<lines.count - 2] {
            guard let space = line.firstIndex(of: " ") else { return nil }
            let value = line[line.index(after: space)...]
            switch line[..<space] {
            case "file":
                guard let file = Self.file(value) else { return nil }
                files.append(file)
            case "changed":
                guard let last = files.indices.last, let changed = Int64(value) else { return nil }
                files[last].changed = changed
            case let name: values[name] = value
            }
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

    private static func file(_ text: Substring) -> FileIdentity? {
        let parts = text.split(separator: " ")
        guard parts.count == 4, let size = Int64(parts[0]), let modified = Int64(parts[1]),
            let device = UInt64(parts[2]), let inode = UInt64(parts[3])
        else { return nil }
        return FileIdentity(size: size, modified: modified, changed: nil, device: device, inode: inode)
    }

    private static let firstLine = "martlet-upload 1"
}

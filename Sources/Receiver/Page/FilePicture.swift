// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The picture of a file's type in a listing: a class that the style sheet has a picture for.
enum FilePicture {
    /// The class for an entry.
    static func of(_ entry: DirectoryListing.Entry) -> String {
        entry.isDirectory ? "folder" : self.of(type: MediaType.of(entry.name))
    }

    /// The class for a media type.
    static func of(type: String) -> String {
        let kind = type.prefix { $0 != "/" }
        switch kind {
        case "image", "audio", "video": return String(kind)
        case "text", "message": return "text"
        case "application": break
        default: return "file"
        }
        let name = type.dropFirst(kind.utf8.count + 1).prefix { $0 != ";" }
        if self.archives.contains(where: { name.contains($0) }) { return "archive" }
        return self.texts.contains { name.contains($0) } ? "text" : "file"
    }

    private static let archives = [
        "zip", "gzip", "bzip2", "x-xz", "zstd", "compressed", "rar", "x-tar", "archive", "package", "rpm", "iso",
    ]

    private static let texts = [
        "json", "xml", "yaml", "toml", "x-sh", "pdf", "postscript", "rtf", "epub", "word", "excel", "powerpoint",
        "document", "ms-",
    ]
}

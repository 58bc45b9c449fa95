// SPDX-License-Identifier: Apache-2.0
/// Media types by a name's extension.
///
/// - Source: the IANA media type registry; RFC 9239 for JavaScript.
package enum MediaType {
    /// The type of files with an unknown extension.
    package static let unknown = "application/octet-stream"

    /// The type of a file with this name.
    package static func of(_ name: String) -> String {
        guard let dot = name.utf8.lastIndex(of: 0x2E), dot != name.startIndex else { return self.unknown }
        let ending = name[name.utf8.index(after: dot)...]
        guard ending.utf8.count <= 12 else { return self.unknown }
        return self.types[ending.lowercased()] ?? self.unknown
    }

    /// An extension for a media type, without its dot, or `nil`.
    package static func fileExtension(_ type: String) -> String? {
        let plain = type.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        guard plain != self.unknown else { return nil }
        if let known = self.preferred[plain] { return known }
        return self.types.filter { $0.value.prefix { $0 != ";" } == plain }.keys.min()
    }

    /// Whether browsers execute scripts in this type, so that an uploaded file could act with this server's origin.
    package static func isActive(_ type: String) -> Bool {
        // Not `contains`, which costs more than the rest of a response's head.
        type.hasPrefix("text/html") || type.hasPrefix("image/svg") || type.hasSuffix("xml")
            || type.hasPrefix("application/xhtml") || type.hasPrefix("text/xml")
    }

    private static let preferred = [
        "text/plain": "txt", "text/html": "html", "image/jpeg": "jpg", "audio/mpeg": "mp3", "video/mpeg": "mpg",
        "application/gzip": "gz", "text/markdown": "md", "video/quicktime": "mov",
        "video/mp4": "mp4", "audio/ogg": "ogg", "application/json": "json",
    ]

    private static let types: [String: String] = [
        "txt": "text/plain; charset=utf-8", "text": "text/plain; charset=utf-8", "log": "text/plain; charset=utf-8",
        "md": "text/markdown; charset=utf-8", "csv": "text/csv; charset=utf-8",
        "tsv": "text/tab-separated-values; charset=utf-8", "html": "text/html; charset=utf-8",
        "htm": "text/html; charset=utf-8", "xhtml": "application/xhtml+xml", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8", "json": "application/json",
        "map": "application/json", "jsonl": "application/jsonl", "ndjson": "application/x-ndjson",
        "xml": "application/xml", "rss": "application/rss+xml", "atom": "application/atom+xml",
        "yaml": "application/yaml", "yml": "application/yaml", "toml": "application/toml", "sh": "application/x-sh",
        "ics": "text/calendar; charset=utf-8", "vcf": "text/vcard; charset=utf-8", "wasm": "application/wasm",
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
        "avif": "image/avif", "heic": "image/heic", "heif": "image/heif", "svg": "image/svg+xml", "bmp": "image/bmp",
        "ico": "image/vnd.microsoft.icon", "tif": "image/tiff", "tiff": "image/tiff", "jxl": "image/jxl",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "flac": "audio/flac", "ogg": "audio/ogg",
        "oga": "audio/ogg", "opus": "audio/ogg", "wav": "audio/vnd.wave", "weba": "audio/webm", "mid": "audio/midi",
        "mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "mkv": "video/matroska",
        "mov": "video/quicktime", "avi": "video/vnd.avi", "mpg": "video/mpeg", "mpeg": "video/mpeg",
        "ogv": "video/ogg", "ts": "video/mp2t", "m3u8": "application/vnd.apple.mpegurl",
        "pdf": "application/pdf", "ps": "application/postscript", "rtf": "application/rtf",
        "epub": "application/epub+zip", "doc": "application/msword", "xls": "application/vnd.ms-excel",
        "ppt": "application/vnd.ms-powerpoint",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "odt": "application/vnd.oasis.opendocument.text", "ods": "application/vnd.oasis.opendocument.spreadsheet",
        "odp": "application/vnd.oasis.opendocument.presentation", "zip": "application/zip", "gz": "application/gzip",
        "tgz": "application/gzip", "bz2": "application/x-bzip2", "xz": "application/x-xz", "zst": "application/zstd",
        "7z": "application/x-7z-compressed", "rar": "application/vnd.rar", "tar": "application/x-tar",
        "jar": "application/java-archive", "deb": "application/vnd.debian.binary-package",
        "rpm": "application/x-rpm", "apk": "application/vnd.android.package-archive",
        "iso": "application/vnd.efi.iso", "torrent": "application/x-bittorrent", "sqlite": "application/vnd.sqlite3",
        "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf", "eml": "message/rfc822",
    ]
}

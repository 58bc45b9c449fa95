// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Media types as servers send them.
///
/// - Source: RFC 9110 §8.3.1.
enum SampleMediaType {
    /// The type and subtype of a `Content-Type` value, in lower case and under their registered name.
    static func essence(_ value: String) -> String {
        let plain = value.utf8.prefix { $0 != 0x3B }.filter { $0 != 0x20 && $0 != 0x09 }.map(ASCII.lowercase)
        let type = String(decoding: plain, as: UTF8.self)
        return self.aliases[type] ?? type
    }

    /// Whether a type says nothing about the content: then its first bytes do.
    static func isUnspecific(_ type: String) -> Bool { self.unspecific.contains(type) }

    private static let unspecific: Set<String> = [
        "", MediaType.unknown, "binary/octet-stream", "application/binary", "application/x-binary",
        "application/download", "application/force-download", "application/x-download", "unknown/unknown",
        "application/unknown", "content/unknown", "*/*",
    ]

    /// Unregistered names in common use.
    private static let aliases = [
        "image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/jfif": "image/jpeg", "image/x-png": "image/png",
        "image/x-icon": "image/vnd.microsoft.icon", "image/ico": "image/vnd.microsoft.icon",
        "image/x-ms-bmp": "image/bmp", "image/svg": "image/svg+xml", "image/tif": "image/tiff",
        "audio/mp3": "audio/mpeg", "audio/x-mp3": "audio/mpeg", "audio/wav": "audio/vnd.wave",
        "audio/x-wav": "audio/vnd.wave", "audio/wave": "audio/vnd.wave", "audio/x-flac": "audio/flac",
        "audio/x-m4a": "audio/mp4", "audio/m4a": "audio/mp4", "audio/x-aac": "audio/aac", "audio/mid": "audio/midi",
        "application/ogg": "audio/ogg", "video/x-msvideo": "video/vnd.avi", "video/avi": "video/vnd.avi",
        "video/x-matroska": "video/matroska", "video/x-m4v": "video/mp4", "application/mp4": "video/mp4",
        "application/x-pdf": "application/pdf", "application/x-gzip": "application/gzip",
        "application/x-zip-compressed": "application/zip", "application/x-zip": "application/zip",
        "application/x-rar-compressed": "application/vnd.rar", "application/x-zstd": "application/zstd",
        "application/bzip2": "application/x-bzip2", "application/javascript": "text/javascript",
        "application/x-javascript": "text/javascript", "text/xml": "application/xml", "text/json": "application/json",
        "application/x-json": "application/json", "text/x-markdown": "text/markdown",
    ]
}

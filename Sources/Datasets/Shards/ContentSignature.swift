// SPDX-License-Identifier: Apache-2.0
/// Finds the media type of a content by its first bytes.
///
/// - Source: WHATWG MIME Sniffing §6 and §7; the formats' specifications for those that it does not list.
enum ContentSignature {
    /// The number of bytes that a signature may need.
    static let length = 512

    /// The media type, or `nil` if no signature matches.
    static func mediaType(of bytes: some Collection<UInt8>) -> String? {
        let head = Array(bytes.prefix(self.length))
        for (offset, signature, type) in self.signatures
        where head.dropFirst(offset).starts(with: signature) { return type }
        return self.container(head) ?? self.text(head)
    }

    /// The signatures at fixed offsets; longer ones of the same beginning first.
    private static let signatures: [(Int, [UInt8], String)] = [
        (0, [0xFF, 0xD8, 0xFF], "image/jpeg"), (0, [0x89] + Array("PNG\r\n".utf8) + [0x1A, 0x0A], "image/png"),
        (0, Array("GIF87a".utf8), "image/gif"), (0, Array("GIF89a".utf8), "image/gif"),
        (0, Array("II*\0".utf8), "image/tiff"), (0, Array("MM\0*".utf8), "image/tiff"),
        (0, [0, 0, 1, 0], "image/vnd.microsoft.icon"), (0, [0xFF, 0x0A], "image/jxl"),
        (0, [0, 0, 0, 0x0C] + Array("JXL \r\n".utf8) + [0x87, 0x0A], "image/jxl"),
        (0, Array("%PDF-".utf8), "application/pdf"), (0, Array("%!PS".utf8), "application/postscript"),
        (0, Array("{\\rtf".utf8), "application/rtf"), (0, [0x1F, 0x8B, 0x08], "application/gzip"),
        (30, Array("mimetypeapplication/epub+zip".utf8), "application/epub+zip"),
        (0, Array("PK".utf8) + [3, 4], "application/zip"), (0, Array("PK".utf8) + [5, 6], "application/zip"),
        (0, Array("7z".utf8) + [0xBC, 0xAF, 0x27, 0x1C], "application/x-7z-compressed"),
        (0, Array("Rar!".utf8) + [0x1A, 0x07], "application/vnd.rar"), (0, Array("BZh".utf8), "application/x-bzip2"),
        (0, [0xFD] + Array("7zXZ\0".utf8), "application/x-xz"), (0, [0x28, 0xB5, 0x2F, 0xFD], "application/zstd"),
        (257, Array("ustar".utf8), "application/x-tar"), (0, Array("\0asm".utf8), "application/wasm"),
        (0, Array("SQLite format 3\0".utf8), "application/vnd.sqlite3"), (0, Array("OggS\0".utf8), "audio/ogg"),
        (0, Array("fLaC".utf8), "audio/flac"), (0, Array("ID3".utf8), "audio/mpeg"), (0, [0xFF, 0xFB], "audio/mpeg"),
        (0, [0xFF, 0xF3], "audio/mpeg"), (0, [0xFF, 0xF2], "audio/mpeg"), (0, [0xFF, 0xF1], "audio/aac"),
        (0, [0xFF, 0xF9], "audio/aac"), (0, Array("MThd".utf8), "audio/midi"), (0, [0, 0, 1, 0xBA], "video/mpeg"),
        (0, [0, 0, 1, 0xB3], "video/mpeg"), (0, Array("wOFF".utf8), "font/woff"), (0, Array("wOF2".utf8), "font/woff2"),
        (0, Array("OTTO".utf8), "font/otf"), (0, [0, 1, 0, 0, 0], "font/ttf"),
    ]

    // MARK: Containers

    /// The type of a RIFF, ISO base media or Matroska file, or of a bitmap.
    private static func container(_ head: [UInt8]) -> String? {
        if head.starts(with: "RIFF".utf8) {
            return self.riff[String(decoding: head.dropFirst(8).prefix(4), as: UTF8.self)]
        }
        if head.dropFirst(4).starts(with: "ftyp".utf8) {
            let brand = String(decoding: head.dropFirst(8).prefix(4), as: UTF8.self)
            return self.brands[brand] ?? "video/mp4"
        }
        if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) {
            return self.contains("webm", in: head.prefix(64)) ? "video/webm" : "video/matroska"
        }
        // Two letters alone also begin texts: the four reserved bytes are zero in bitmaps.
        if head.starts(with: "BM".utf8), head.count >= 10, head[6..<10].allSatisfy({ $0 == 0 }) { return "image/bmp" }
        return nil
    }

    private static let riff = ["WEBP": "image/webp", "WAVE": "audio/vnd.wave", "AVI ": "video/vnd.avi"]

    private static let brands = [
        "avif": "image/avif", "avis": "image/avif", "heic": "image/heic", "heix": "image/heic", "mif1": "image/heif",
        "msf1": "image/heif", "M4A ": "audio/mp4", "M4B ": "audio/mp4", "qt  ": "video/quicktime",
    ]

    // MARK: Texts

    /// The type of a text by its first characters.
    private static func text(_ head: [UInt8]) -> String? {
        var rest = head[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        rest = rest.drop(while: self.isSpace)
        switch rest.first {
        case 0x3C: return self.markup(rest)
        case 0x7B:
            let next = rest.dropFirst().first { !self.isSpace($0) }
            return next == 0x22 || next == 0x7D ? "application/json" : nil
        case 0x5B:
            let next = rest.dropFirst().first { !self.isSpace($0) }
            return next.map { "{[\"]-0123456789tfn".utf8.contains($0) } == true ? "application/json" : nil
        default: return nil
        }
    }

    private static func markup(_ head: ArraySlice<UInt8>) -> String? {
        let lower = head.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        let tags = ["<!doctype html", "<html", "<head", "<body", "<title", "<script", "<!--"]
        if tags.contains(where: { lower.starts(with: $0.utf8) }) { return "text/html" }
        if lower.starts(with: "<svg".utf8) { return "image/svg+xml" }
        guard lower.starts(with: "<?xml".utf8) else { return nil }
        if self.contains("<svg", in: lower[...]) { return "image/svg+xml" }
        return self.contains("<html", in: lower[...]) ? "application/xhtml+xml" : "application/xml"
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D || byte == 0x0C
    }

    private static func contains(_ text: String, in bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while rest.count >= text.utf8.count {
            if rest.starts(with: text.utf8) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}

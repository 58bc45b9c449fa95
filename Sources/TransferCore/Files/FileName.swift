// SPDX-License-Identifier: Apache-2.0
/// Chooses the name of a downloaded file and makes untrusted names safe.
///
/// - Source: RFC 6266 §4.3; CVE-2014-4877, CVE-2010-2252, CVE-2020-8177 and others show the risks.
public enum FileName {
    /// The maximum length of a name in bytes: 255, as in file systems, minus the room for `.part.journal`.
    public static let longest = 242

    /// The name if no other source provides one.
    public static let fallback = "download"

    /// Converts an untrusted name to one safe path component, or `nil` if nothing is left.
    ///
    /// The last component after `/` and `\`; without control and invisible format characters (which hide the true
    /// extension), leading dots, trailing dots and surrounding white space; in NFC; at most ``longest`` bytes with the
    /// extension kept. A name of a file that Martlet keeps next to a download, such as `x.part`, gets another suffix.
    public static func sanitize(_ raw: String) -> String? {
        let component = self.component(raw)
        guard let name = component, ReservedName.isReserved(name[...]) else { return component }
        return ReservedName.replacing(self.prefix(name[...], self.longest - ReservedName.replacement.utf8.count))
    }

    private static func component(_ raw: String) -> String? {
        if self.isPlain(raw) { return raw }
        let scalars = raw.unicodeScalars
        let component = scalars.lastIndex { $0 == "/" || $0 == "\\" }.map { scalars[scalars.index(after: $0)...] }
        let visible = String(String.UnicodeScalarView((component ?? scalars[...]).filter { !self.isHidden($0) }))
        var name = ComposedText.scalars(visible)[...]
        while let first = name.first, first == "." || first.properties.isWhitespace { name.removeFirst() }
        while let last = name.last, last == "." || last.properties.isWhitespace { name.removeLast() }
        guard !name.isEmpty else { return nil }
        return self.shortened(String(String.UnicodeScalarView(name)), inserting: "")
    }

    /// Whether a file that a client names may have exactly this name.
    ///
    /// The rules are those of ``sanitize(_:)``, but names may have 255 bytes and any normal form, and may contain the
    /// zero-width joiner and non-joiner, which emoji and many scripts need, and the soft hyphen. The first and the last
    /// character are visible.
    public static func isAcceptable(_ name: String) -> Bool {
        let scalars = name.unicodeScalars
        guard name.utf8.count <= 255, let first = scalars.first, let last = scalars.last else { return false }
        guard first != ".", last != ".", !first.properties.isWhitespace, !last.properties.isWhitespace,
            !self.isHidden(first), !self.isHidden(last)
        else { return false }
        return scalars.allSatisfy {
            $0 != "/" && $0 != "\\" && (!self.isHidden($0) || ["\u{200C}", "\u{200D}", "\u{AD}"].contains($0))
        }
    }

    /// Chooses a name: the user's, the Content-Disposition's, the URL's last segment, `download`.
    ///
    /// The user's own name may start with a dot; it is only reduced to a component. A redirect never chooses the name.
    ///
    /// - Parameters:
    ///   - user: The name that the user gave.
    ///   - disposition: The value of the Content-Disposition field.
    ///   - url: The URL as first requested, never a redirect's.
    /// - Returns: One path component of at most ``longest`` bytes.
    public static func choose(user: String?, disposition: String?, url: HTTPURL) -> String {
        if let user {
            if self.isComponent(user) { return user }
            if let name = self.sanitize(user) { return name }
        }
        if let proposed = disposition.flatMap({ ContentDisposition($0).fileName }), let name = self.sanitize(proposed) {
            return name
        }
        return url.lastPathSegment.flatMap(self.sanitize) ?? self.fallback
    }

    /// Chooses a name as aria2 does: the last segment of the last URL after redirects, or `index.html`.
    ///
    /// A percent-encoded slash in the segment stays encoded, instead of ending the name.
    /// The redirecting server could propose any name with Content-Disposition as well.
    ///
    /// - Returns: One path component of at most ``longest`` bytes.
    package static func choose(byFinal url: HTTPURL) -> String {
        let segment = url.lastPathSegment?.split(separator: "/", omittingEmptySubsequences: false)
        return segment.flatMap { self.sanitize($0.joined(separator: "%2F")) } ?? "index.html"
    }

    /// The name with a number before its extension: `file.tar.gz` and 1 give `file.1.tar.gz`.
    public static func numbered(_ name: String, _ number: Int) -> String {
        self.shortened(name, inserting: ".\(number)")
    }

    private static func isComponent(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= self.longest
            && !name.utf8.contains { $0 == 0x2F || $0 == 0 }
    }

    /// Whether a name is safe unchanged, as most are: short printable ASCII.
    private static func isPlain(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, let last = bytes.last, bytes.count <= self.longest else { return false }
        guard first != 0x2E, first != 0x20, last != 0x2E, last != 0x20 else { return false }
        return bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x2F && $0 != 0x5C }
    }

    /// Whether a character is invisible and not allowed in an untrusted name.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// Inserts text before the extension and shortens the stem so that everything fits.
    private static func shortened(_ name: String, inserting text: String) -> String {
        let fileExtension = FileExtension.of(name)
        let stem = name.dropLast(fileExtension.count)
        let room = self.longest - fileExtension.utf8.count - text.utf8.count
        guard stem.utf8.count > room else { return "\(stem)\(text)\(fileExtension)" }
        var kept = self.prefix(stem, room)
        while let last = kept.unicodeScalars.last, last == "." || last.properties.isWhitespace {
            kept.unicodeScalars.removeLast()
        }
        if kept.isEmpty { kept = self.fallback }
        return "\(kept)\(text)\(fileExtension)"
    }

    /// As many whole characters as fit, or scalars if not even one character does.
    private static func prefix(_ text: Substring, _ room: Int) -> String {
        var kept = ""
        for character in text {
            guard kept.utf8.count + character.utf8.count <= room else { break }
            kept.append(character)
        }
        guard kept.isEmpty else { return kept }
        for scalar in text.unicodeScalars {
            guard kept.utf8.count + UTF8.width(scalar) <= room else { break }
            kept.unicodeScalars.append(scalar)
        }
        return kept
    }
}

/// Finds the extension of a file's name.
enum FileExtension {
    /// Suffixes that follow the extension of the file that they wrap.
    private static let wrappers: Set<String> = [
        "gz", "bz2", "xz", "zst", "lz", "lz4", "lzma", "lzo", "z", "br", "asc", "sig", "sign", "gpg", "pgp", "md5",
        "sha1", "sha256", "sha512", "torrent", "zsync", "aria2", "enc", "age",
    ]

    /// The extension with its dot, including compound ones such as `.tar.gz`; empty if there is none.
    static func of(_ name: String) -> Substring {
        var rest = name[...]
        var start = name.endIndex
        for _ in 0..<3 {
            guard let dot = rest.lastIndex(of: "."), dot > rest.startIndex else { break }
            let part = rest[rest.index(after: dot)...]
            let isLast = start == name.endIndex
            // Text before a wrapper is an extension only if it looks like one: not `my.document.gz`, `1.2.gz`.
            guard self.isPlausible(part), isLast || (part.count <= 6 && part.contains { !$0.isNumber }) else { break }
            start = dot
            rest = rest[..<dot]
            guard self.wrappers.contains(part.lowercased()) else { break }
        }
        return name[start...]
    }

    private static func isPlausible(_ part: Substring) -> Bool {
        (1...16).contains(part.utf8.count)
            && part.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x7A).contains(ASCII.lowercase($0))
            }
    }
}

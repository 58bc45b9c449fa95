// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Chooses the extension of a sample's content.
///
/// The first that applies: the extension of the row's name; that of the URL's path, if it agrees with the media type; the
/// media type's; for a missing or unspecific media type that of the first bytes, and then that of the URL if it is
/// known; `bin`. It has lower-case letters and digits only, and is never `json` alone, which is the row.
enum SampleExtension {
    /// The extension of the member with the row.
    static let row = "json"
    /// The extension of a content of an unknown type.
    static let unknown = "bin"

    /// Chooses the extension.
    ///
    /// - Parameters:
    ///   - name: The name that the row proposes, or `nil`.
    ///   - url: The URL of the row.
    ///   - mediaType: The value of `Content-Type`, or `nil`.
    ///   - head: The first bytes of the content, up to ``ContentSignature/length``.
    /// - Returns: The extension, without its dot.
    static func choose(name: String?, url: String, mediaType: String?, head: some Collection<UInt8>) -> String {
        let chosen = self.candidate(name, url, mediaType, head)
        // WebDataset takes the part after the last dot for the format.
        return chosen == self.row ? "data.json" : chosen
    }

    private static func candidate(
        _ name: String?,
        _ url: String,
        _ mediaType: String?,
        _ head: some Collection<UInt8>
    ) -> String {
        if let given = name.flatMap({ self.ending(of: $0) }) { return given }
        let ofURL = self.ending(ofURL: url)
        let type = mediaType.map(SampleMediaType.essence)
        guard let type, !SampleMediaType.isUnspecific(type) else {
            if let found = ContentSignature.mediaType(of: head).flatMap(MediaType.fileExtension) { return found }
            return ofURL.flatMap { self.type(of: $0) == nil ? nil : $0 } ?? self.unknown
        }
        if let ofURL, self.type(of: ofURL) == type { return ofURL }
        if let found = MediaType.fileExtension(type) { return found }
        return ContentSignature.mediaType(of: head).flatMap(MediaType.fileExtension) ?? self.unknown
    }

    /// The media type of an extension, or `nil` if it is not known.
    private static func type(of ending: String) -> String? {
        let type = MediaType.of("x." + ending)
        return type == MediaType.unknown ? nil : SampleMediaType.essence(type)
    }

    /// The extension of the last component of a path, or `nil` if it has none that can be one.
    private static func ending(of path: String) -> String? {
        let last = path.utf8.split(separator: 0x2F, omittingEmptySubsequences: false).last ?? Substring(path).utf8[...]
        guard let dot = last.lastIndex(of: 0x2E), dot > last.startIndex else { return nil }
        let ending = last[last.index(after: dot)...]
        guard (1...10).contains(ending.count) else { return nil }
        let lower = ending.map(ASCII.lowercase)
        guard lower.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }) else { return nil }
        let text = String(decoding: lower, as: UTF8.self)
        return self.canonical[text] ?? text
    }

    private static func ending(ofURL text: String) -> String? {
        guard let url = try? HTTPURL(text) else { return nil }
        return self.ending(of: String(decoding: PercentEncoding.decode(url.path.utf8), as: UTF8.self))
    }

    /// Extensions of one type that have a more common one.
    private static let canonical = ["jpeg": "jpg", "jpe": "jpg", "jfif": "jpg", "tiff": "tif", "htm": "html"]
}

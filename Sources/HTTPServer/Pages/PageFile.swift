// SPDX-License-Identifier: Apache-2.0
internal import Crypto
package import TransferCore

/// A file of a web page that is embedded in the executable: HTML, a style sheet, a script module or an icon.
///
/// The files themselves are in `Files` next to this file (those that several pages share) and in the modules of the
/// pages; `Package.swift` embeds them. They contain no secrets and are served without a credential.
package struct PageFile: Sendable {
    /// The path at which the file is served.
    package let path: String
    private let bytes: [UInt8]
    private let tag: String
    private let fields: HeaderFields

    /// What a page may load and connect to: its own origin, and no script or style inside the HTML.
    package static let contentSecurityPolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
        worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'
        """

    /// Creates a file.
    ///
    /// - Parameters:
    ///   - path: The path at which it is served; its extension (`html`, `css`, `js`, `svg`) selects the media type, and
    ///     a path without one is HTML.
    ///   - bytes: The content, which is served as ``compact(_:)`` returns it.
    package init(_ path: String, _ bytes: [UInt8]) {
        self.path = path
        let bytes = Self.compact(bytes)
        self.bytes = bytes
        self.tag = "\"\(Hexadecimal.encode(SHA256.hash(data: bytes).prefix(8)))\""
        let type =
            switch path.split(separator: ".").last ?? "" {
            case "css": "text/css; charset=utf-8"
            case "js": "text/javascript; charset=utf-8"
            case "svg": "image/svg+xml"
            default: "text/html; charset=utf-8"
            }
        // With a tag, a browser asks each time and never runs the scripts of an older version with a new page.
        self.fields = [
            "Content-Type": type, "ETag": self.tag, "Cache-Control": "no-cache",
            "Content-Security-Policy": Self.contentSecurityPolicy, "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
        ]
    }

    /// Returns a file without indentation by tabs, and without comments of scripts and styles on lines of their own.
    ///
    /// These are an eighth of the bytes. A text over several lines must not contain such lines.
    static func compact(_ bytes: [UInt8]) -> [UInt8] {
        var compact: [UInt8] = []
        compact.reserveCapacity(bytes.count)
        var isComment = false
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = line.drop { $0 == UInt8(ascii: "\t") }
            let endsComment = text.suffix(2).elementsEqual("*/".utf8)
            if isComment || text.starts(with: "/*".utf8) {
                isComment = !endsComment
            } else if !text.starts(with: "//".utf8) {
                compact += text
                compact.append(UInt8(ascii: "\n"))
            }
        }
        return compact
    }

    /// Returns the file, or status 304 if the client has it.
    package func response(to request: RoutedRequest) -> Response { self.response(request.fields) }

    /// Returns the file for the header fields of a request, or status 304 if the client has it.
    package func response(_ request: HeaderFields) -> Response {
        let known = request["If-None-Match"] ?? ""
        guard !known.contains(self.tag) else { return Response(304, self.fields) }
        return Response(200, self.fields, .bytes(self.bytes))
    }

    /// The files that all pages share.
    ///
    /// - Parameter folder: The path of the folder in which they are served, without a slash at its end.
    /// - Returns: The files.
    package static func shared(in folder: String) -> [PageFile] {
        [
            PageFile("\(folder)/style.css", PackageResources.style_css),
            PageFile("\(folder)/common.js", PackageResources.common_js),
            PageFile("\(folder)/icon.svg", PackageResources.icon_svg),
        ]
    }
}

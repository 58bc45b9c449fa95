// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import NIOPosix
internal import Synchronization
internal import TransferCore

/// The response for a directory: an HTML page or JSON.
struct ListingResponse: Sendable {
    /// The directory's path.
    var path: TreePath
    /// The directory's contents.
    var listing: DirectoryListing
    /// Whether the page has an upload form.
    var takesUploads: Bool
    /// The prefix of all URLs.
    var base = BasePath.none

    /// Creates the response in the format that the client prefers.
    ///
    /// - Parameters:
    ///   - accept: The value of `Accept`.
    ///   - place: The threads that write the listing.
    ///   - charge: The memory of the listing; released with the response.
    /// - Returns: The response.
    func response(accept: String?, place: ListingPlace, charge: ListingPlace.Charge) -> Response {
        var fields = HeaderFields()
        fields.append("Vary", "Accept")
        fields.append("Cache-Control", "no-cache")
        fields.append("X-Content-Type-Options", "nosniff")
        let format = AcceptedFormat.choose(accept, preferring: .html)
        switch format {
        case .json: fields.append("Content-Type", "application/json")
        case .html:
            fields.append("Content-Type", "text/html; charset=utf-8")
            fields.append(
                "Content-Security-Policy",
                "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
            )
            // Not `no-referrer`: browsers would then submit the form with `Origin: null`, which is refused.
            fields.append("Referrer-Policy", "same-origin")
        }
        return Response(200, fields, .stream(Source(Text(listing: self, format: format), place.pool, charge)))
    }

    private final class Source: ContentSource {
        private let text: Mutex<Text>
        private let charge: ListingPlace.Charge
        let pool: NIOThreadPool?

        init(_ text: Text, _ pool: NIOThreadPool, _ charge: ListingPlace.Charge) {
            self.text = Mutex(text)
            self.pool = pool
            self.charge = charge
        }

        func next() -> [UInt8] { self.text.withLock { $0.next() } }
    }

    /// The text of a listing, in pieces.
    ///
    /// Pure value.
    struct Text: Sendable {
        /// The listing.
        let listing: ListingResponse
        /// The format.
        let format: AcceptedFormat
        private var index = 0
        private var state = State.start

        private enum State { case start, entries, end }

        /// The size above which a piece ends, in bytes.
        static let piece = 32 << 10

        init(listing: ListingResponse, format: AcceptedFormat) {
            self.listing = listing
            self.format = format
        }

        /// The next piece; empty at the end.
        mutating func next() -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(Self.piece + 1024)
            if self.state == .start {
                self.state = .entries
                bytes += self.format == .json ? self.listing.jsonHead : Array(self.listing.pageHead.utf8)
            }
            let entries = self.listing.listing.entries
            while self.state == .entries, bytes.count < Self.piece {
                guard self.index < entries.count else {
                    self.state = .end
                    bytes += self.format == .json ? Array("]}\n".utf8) : Array(ListingResponse.pageTail.utf8)
                    break
                }
                let entry = entries[self.index]
                switch self.format {
                case .json: bytes += (self.index == 0 ? [] : [0x2C]) + self.listing.json(entry).bytes
                case .html: bytes += Array(self.listing.row(entry).utf8)
                }
                self.index += 1
            }
            return bytes
        }
    }

    /// The JSON text before the first entry.
    private var jsonHead: [UInt8] {
        let path = JSON.string(self.path.url).bytes
        return Array("{\"path\":".utf8) + path
            + Array(",\"truncated\":\(self.listing.isCut),\"entries\":[".utf8)
    }

    private func json(_ entry: DirectoryListing.Entry) -> JSON {
        .object(
            [
                JSON.Member("name", .string(entry.name)),
                JSON.Member("type", entry.isDirectory ? "directory" : "file"),
                JSON.Member("url", .string(self.url(entry))),
                JSON.Member("modified", .string(Timestamp.text(entry.modified))),
            ] + (entry.isDirectory ? [] : [JSON.Member("size", .integer(entry.size))])
        )
    }

    private func url(_ entry: DirectoryListing.Entry) -> String {
        var path = self.path
        path.names.append(entry.name)
        path.endsWithSlash = entry.isDirectory
        return self.base.url(path.url)
    }

    private func row(_ entry: DirectoryListing.Entry) -> String {
        let name = HTMLText.escape(entry.name) + (entry.isDirectory ? "/" : "")
        let size = entry.isDirectory ? "" : ByteCount.binary(entry.size)
        return "<tr><th scope=\"row\"><a href=\"\(self.url(entry))\">\(name)</a></th>"
            + "<td>\(size)</td>"
            + "<td><time datetime=\"\(Timestamp.text(entry.modified))\">\(Timestamp.plain(entry.modified))</time></td></tr>\n"
    }

    private static let pageTail = """
        </tbody>
        </table>
        </main>
        </body>
        </html>

        """

    /// The page up to its first entry: no scripts, accessible to screen readers, and usable without CSS.
    private var pageHead: String {
        let title = HTMLText.escape("/" + self.path.names.map { $0 + "/" }.joined())
        let count = self.listing.entries.count
        let summary = self.listing.isCut ? "The first \(count) entries" : count == 1 ? "1 entry" : "\(count) entries"
        let up =
            self.path.names.isEmpty
            ? "" : "<tr><th scope=\"row\"><a href=\"../\">Up</a></th><td></td><td></td></tr>\n"
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>
            \(Self.style)
            </style>
            </head>
            <body>
            <main>
            <h1>\(self.trail)</h1>
            \(self.takesUploads ? Self.form : "")<table>
            <caption>\(summary)</caption>
            <thead><tr><th scope="col">Name</th><th scope="col">Size</th><th scope="col">Changed (UTC)</th></tr></thead>
            <tbody>
            \(up)
            """
    }

    /// The path as a heading, with a link for each parent directory.
    private var trail: String {
        var trail = self.path.names.isEmpty ? "/" : "<a href=\"\(self.base.url("/"))\" aria-label=\"Top\">/</a>"
        for (index, name) in self.path.names.enumerated() {
            let text = HTMLText.escape(name)
            guard index < self.path.names.count - 1 else { return trail + text + "/" }
            let directory = TreePath(names: Array(self.path.names[...index]), endsWithSlash: true)
            trail += "<a href=\"\(self.base.url(directory.url))\">\(text)</a>/"
        }
        return trail
    }

    /// Supports light and dark colour schemes; on narrow screens, size and time are below the name.
    private static let style = """
        :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; --line: #8886 }
        body { margin: 0 auto; padding: 1rem 1rem 3rem; max-width: 56rem }
        h1 { font-size: 1.4rem; overflow-wrap: anywhere }
        a { text-decoration: none; color: light-dark(#0b57d0, #8ab4f8) }
        a:hover, a:focus-visible { text-decoration: underline }
        form { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center }
        input { flex: 1 1 14rem; min-width: 0; font: inherit }
        button { font: inherit; padding: .2rem 1.2rem }
        table { border-collapse: collapse; width: 100% }
        caption { text-align: left; padding: 1rem 0 .5rem; opacity: .75 }
        th, td { padding: .4rem .75rem .4rem 0; text-align: left; font-weight: normal; vertical-align: top }
        th[scope=row] { overflow-wrap: anywhere; width: 100% }
        td { white-space: nowrap; font-variant-numeric: tabular-nums; opacity: .75 }
        th:nth-child(2), td:nth-child(2) { text-align: right; padding-left: .75rem }
        th:last-child, td:last-child { padding-right: 0 }
        thead th { font-weight: 600; white-space: nowrap }
        tr { border-bottom: 1px solid var(--line) }
        tbody tr:hover { background: #8881 }
        @media (max-width: 36rem) {
        thead { position: absolute; clip-path: inset(50%); height: 1px; overflow: hidden }
        tbody tr { display: flex; flex-wrap: wrap; padding: .4rem 0 }
        tbody th, tbody td:nth-child(n) { padding: 0 1rem 0 0; font-size: .875rem }
        tbody th { font-size: 1rem }
        td:empty { display: none }
        }
        """

    private static let form = """
        <form method="post" enctype="multipart/form-data">
        <label for="files">Send files here</label>
        <input id="files" type="file" name="file" multiple required>
        <button type="submit">Send</button>
        </form>

        """
}

internal import Control
internal import TransferCore

/// The response for a directory: an HTML page or JSON.
struct ListingAnswer {
    /// The directory's path.
    var path: TreePath
    /// The directory's contents.
    var listing: DirectoryListing
    /// Whether the page has an upload form.
    var takesUploads: Bool

    /// Creates the response in the format that the client prefers.
    func answer(accept: String?) -> Answer {
        var fields = HeaderFields()
        fields.append("Vary", "Accept")
        fields.append("Cache-Control", "no-cache")
        fields.append("X-Content-Type-Options", "nosniff")
        switch AcceptedFormat.choose(accept, preferring: .html) {
        case .json:
            fields.append("Content-Type", "application/json")
            return Answer(200, fields, .bytes(self.json.bytes + [0x0A]))
        default:
            fields.append("Content-Type", "text/html; charset=utf-8")
            fields.append(
                "Content-Security-Policy",
                "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
            )
            // Not `no-referrer`: browsers would then submit the form with `Origin: null`, which is refused.
            fields.append("Referrer-Policy", "same-origin")
            return Answer(200, fields, .bytes(Array(self.page.utf8)))
        }
    }

    /// The listing as JSON.
    var json: JSON {
        .object([
            JSON.Member("path", .string(self.path.url)), JSON.Member("truncated", .bool(self.listing.isCut)),
            JSON.Member(
                "entries",
                .array(
                    self.listing.entries.map { entry in
                        .object(
                            [
                                JSON.Member("name", .string(entry.name)),
                                JSON.Member("type", entry.isDirectory ? "directory" : "file"),
                                JSON.Member("url", .string(self.url(entry))),
                                JSON.Member("modified", .string(Timestamp.text(entry.modified))),
                            ] + (entry.isDirectory ? [] : [JSON.Member("size", .integer(entry.size))])
                        )
                    }
                )
            ),
        ])
    }

    private func url(_ entry: DirectoryListing.Entry) -> String {
        var path = self.path
        path.names.append(entry.name)
        path.endsWithSlash = entry.isDirectory
        return path.url
    }

    /// The listing as an HTML page: no scripts, accessible to screen readers, and usable without CSS.
    var page: String {
        let title = HTMLText.escape("/" + self.path.names.map { $0 + "/" }.joined())
        var rows = ""
        if !self.path.names.isEmpty {
            rows += "<tr><th scope=\"row\"><a href=\"../\">Up</a></th><td></td><td></td></tr>\n"
        }
        for entry in self.listing.entries {
            let name = HTMLText.escape(entry.name) + (entry.isDirectory ? "/" : "")
            let size = entry.isDirectory ? "" : ByteCount.binary(entry.size)
            rows +=
                "<tr><th scope=\"row\"><a href=\"\(self.url(entry))\">\(name)</a></th>"
                + "<td>\(size)</td>"
                + "<td><time datetime=\"\(Timestamp.text(entry.modified))\">\(Timestamp.plain(entry.modified))</time></td></tr>\n"
        }
        let count = self.listing.entries.count
        let summary = self.listing.isCut ? "The first \(count) entries" : count == 1 ? "1 entry" : "\(count) entries"
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
            \(rows)</tbody>
            </table>
            </main>
            </body>
            </html>

            """
    }

    /// The path as a heading, with a link for each parent directory.
    private var trail: String {
        var trail = self.path.names.isEmpty ? "/" : "<a href=\"/\" aria-label=\"Top\">/</a>"
        for (index, name) in self.path.names.enumerated() {
            let text = HTMLText.escape(name)
            guard index < self.path.names.count - 1 else { return trail + text + "/" }
            let directory = TreePath(names: Array(self.path.names[...index]), endsWithSlash: true)
            trail += "<a href=\"\(directory.url)\">\(text)</a>/"
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

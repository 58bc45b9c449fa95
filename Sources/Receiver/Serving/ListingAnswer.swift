internal import Control
internal import TransferCore

/// The answer for a directory: a page for people, JSON for programs.
struct ListingAnswer {
    /// The directory's path.
    var path: TreePath
    /// What is in it.
    var listing: DirectoryListing
    /// Whether the page offers to send files.
    var takesUploads: Bool

    /// Makes the answer in the form that the client prefers.
    func answer(accept: String?) -> Answer {
        var fields = HTTPFields()
        fields.append("Vary", "Accept")
        fields.append("Cache-Control", "no-cache")
        fields.append("X-Content-Type-Options", "nosniff")
        switch AcceptedFormat.choose(accept, among: [.html, .json]) {
        case .json:
            fields.append("Content-Type", "application/json")
            return Answer(200, fields, .bytes(self.json.bytes + [0x0A]))
        default:
            fields.append("Content-Type", "text/html; charset=utf-8")
            fields.append(
                "Content-Security-Policy",
                "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
            )
            fields.append("Referrer-Policy", "no-referrer")
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

    /// The listing as a page: plain, without scripts, readable by screen readers and without style sheets.
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
            <meta name="viewport" content="width=device-width">
            <title>\(title)</title>
            <style>
            :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
            body { margin: 1.5rem auto; padding: 0 1rem; max-width: 60rem }
            table { border-collapse: collapse; width: 100% }
            caption { text-align: left; padding: .5rem 0 }
            th, td { padding: .25rem .5rem .25rem 0; text-align: left; font-weight: normal; vertical-align: top }
            th[scope=row] { overflow-wrap: anywhere }
            td + td, td { white-space: nowrap }
            thead th { border-bottom: 1px solid; font-weight: bold }
            </style>
            </head>
            <body>
            <main>
            <h1>\(title)</h1>
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

    private static let form = """
        <form method="post" enctype="multipart/form-data">
        <p><label for="files">Send files here:</label>
        <input id="files" type="file" name="file" multiple required>
        <button type="submit">Send</button></p>
        </form>

        """
}

// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The page with the links of the files that a form has sent, for browsers without JavaScript.
struct SentPage {
    let files: [LandedFile]
    let directory: TreePath
    let request: Request

    init(_ files: [LandedFile], in directory: TreePath, _ request: Request) {
        self.files = files
        self.directory = directory
        self.request = request
    }

    /// The page; its status is 201 (Created).
    var response: Response {
        var rows = ""
        for file in self.files {
            let name = HTMLText.escape(file.path.name ?? "")
            rows += "<li>\(name) (\(ByteCount.binary(file.facts.length)))"
            if let link = file.link {
                let url = HTMLText.escape(AbsoluteLocation.url(link, self.request))
                rows += "<br><a href=\"\(url)\">\(url)</a>"
            }
            rows += "</li>\n"
        }
        // The form was sent to the directory's path, from which relative URLs start.
        let html =
            PageAssets.head("Received", at: self.directory, hasScript: false) + """
                <body><main><h1>Received</h1>
                <ul>
                \(rows)</ul>
                <p>Anyone who has a link can download its file. The links are shown only here.</p>
                <p><a href="">Send more</a></p></main></body></html>

                """
        var fields = PageAssets.fields()
        fields.append("Cache-Control", "no-store")
        return Response(201, fields, .bytes(Array(html.utf8)))
    }
}

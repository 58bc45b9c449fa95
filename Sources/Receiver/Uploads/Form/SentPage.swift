// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The page with the links of the files that a form has sent.
struct SentPage {
    let files: [LandedFile]
    let request: Request

    init(_ files: [LandedFile], _ request: Request) {
        self.files = files
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
        let html = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>Received</title>
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <style>body { font: 1em sans-serif; margin: 2em } li { margin: 0.5em 0; overflow-wrap: anywhere }</style></head>
            <body><h1>Received</h1><ul>
            \(rows)</ul><p>Anyone who has a link can download its file. The links are shown only here.</p></body></html>

            """
        var response = Response.page(html, ["Cache-Control": "no-store", "Referrer-Policy": "same-origin"])
        response.status = 201
        return response
    }
}

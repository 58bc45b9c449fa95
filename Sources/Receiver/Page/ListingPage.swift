// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The page of a directory as HTML: complete without JavaScript, with more controls by the script.
///
/// Pure value. Elements with `data-t` are translated by the script; hidden ones need it.
struct ListingPage: Sendable {
    /// The directory's path.
    var path: TreePath
    /// The visitor, whose rights decide which controls the page has.
    var visitor: PageVisitor

    /// A page that only sends files: for a visitor who may write and not list.
    ///
    /// It is the same for every path, so that it does not show which directories exist.
    ///
    /// - Parameter accept: The value of `Accept`.
    /// - Returns: The page, or `nil` if the client prefers JSON or the visitor has other rights.
    func sendPage(accept: String?) -> Response? {
        guard self.visitor.onlySends, AcceptedFormat.choose(accept, preferring: .html) == .html else { return nil }
        var fields = PageAssets.fields()
        fields.append("Vary", "Accept")
        fields.append("Cache-Control", "no-cache")
        let html =
            self.head + "<h2 data-t=\"sendTitle\">Send files</h2>\n"
            + "<p class=\"soft\" data-t=\"sendHelp\">You can send files here, but not see what is here.</p>\n"
            + Self.tail
        return Response(200, fields, .bytes(Array(html.utf8)))
    }

    /// The page from its beginning to the first entry of the listing.
    func listingHead(count: Int, isCut: Bool) -> String {
        let summary = isCut ? "The first \(count) entries" : count == 1 ? "1 entry" : "\(count) entries"
        let all = self.isZipped ? "<th><input type=\"checkbox\" id=\"all\" aria-label=\"All\" hidden></th>" : ""
        return self.head + self.tools + """
            <table role="table">
            <caption>\(summary)</caption>
            <thead role="rowgroup"><tr role="row">\(all)<th scope="col" role="columnheader" data-t="name">Name</th>\
            <th scope="col" role="columnheader" data-t="size">Size</th>\
            <th scope="col" role="columnheader" data-t="changed">Changed (UTC)</th></tr></thead>
            <tbody role="rowgroup">

            """
    }

    /// The row of an entry; `data-size` is missing for directories.
    func row(_ entry: DirectoryListing.Entry) -> String {
        let text = HTMLText.escape(entry.name)
        let slash = entry.isDirectory ? "/" : ""
        let url = TreePath.encode(entry.name) + slash
        let box =
            self.isZipped
            ? "<td role=\"cell\"><input type=\"checkbox\" form=\"zip\" name=\"name\" value=\"\(text)\(slash)\" "
                + "aria-label=\"\(text)\"></td>" : ""
        let size = entry.isDirectory ? "" : ByteCount.binary(entry.size)
        let number = entry.isDirectory ? "" : " data-size=\"\(entry.size)\""
        return "<tr role=\"row\"\(number)>\(box)<th scope=\"row\" role=\"rowheader\">"
            + "<a class=\"\(FilePicture.of(entry))\" href=\"\(url)\">\(text)\(slash)</a></th>"
            + "<td role=\"cell\">\(size)</td><td role=\"cell\"><time datetime=\"\(Timestamp.text(entry.modified))\">"
            + "\(Timestamp.plain(entry.modified))</time></td></tr>\n"
    }

    /// The number of rows after which a ``groupEnd`` follows.
    static let group = 200

    /// The end of a group of rows: browsers lay out only visible groups.
    static let groupEnd = "</tbody>\n<tbody role=\"rowgroup\">\n"

    /// The end of a listing.
    static let listingTail = "</tbody>\n</table>\n" + Self.tail

    private static let tail = """
        </main>
        <p id="toast" role="status"></p>
        <p id="announcements" class="hidden-text" role="status"></p>
        </body>
        </html>

        """

    /// Whether entries can be selected and downloaded together.
    private var isZipped: Bool { self.visitor.rights.isSuperset(of: [.list, .read]) }

    private var head: String {
        let title = "/" + self.path.names.map { $0 + "/" }.joined()
        let heading = self.visitor.onlySends ? HTMLText.escape(title) : self.trail
        return PageAssets.head(title, at: self.path, hasScript: true) + """
            <body \(self.visitor.attributes) data-path="\(self.path.url)">
            <header><h1>\(heading)</h1><span id="session"></span></header>
            <main>
            \(self.visitor.rights.contains(.write) ? Self.form : "")
            """
    }

    /// The path as a heading, with a link for each parent directory.
    private var trail: String {
        let names = self.path.names
        guard let last = names.last else { return "/" }
        var trail = "<a href=\"\(PageAssets.top(from: self.path))\" aria-label=\"Top\">/</a>"
        for (index, name) in names.dropLast().enumerated() {
            let up = String(repeating: "../", count: names.count - 1 - index)
            trail += "<a href=\"\(up)\">\(HTMLText.escape(name))</a>/"
        }
        return trail + HTMLText.escape(last) + "/"
    }

    private var tools: String {
        let zip =
            self.isZipped
            ? """
            <form id="zip" method="post" action="?zip">\
            <button data-t="zip">Download the selection as zip</button></form>
            <a id="zip-all" class="button" href="?zip" data-t="zipAll">Download all as zip</a>
            <button id="link" data-t="makeLink" hidden>Make a link</button>

            """ : ""
        return """
            <div class="tools">
            <input id="filter" type="search" aria-label="Filter names"
            placeholder="Filter names" data-t-label="filter" data-t-hint="filter" hidden>
            \(zip)</div>

            """
    }

    private static let form = """
        <section id="send">
        <form method="post" enctype="multipart/form-data">
        <label class="pick"><span data-t="sendFiles">Send files here</span>
        <input id="files" type="file" name="file" multiple required></label>
        <label class="pick" hidden><span data-t="sendFolder">Send a folder</span>
        <input id="folder" type="file" webkitdirectory multiple></label>
        <button type="submit">Send</button>
        <span id="drop" class="soft" data-t="dropHelp" hidden>or drop files and folders on this page</span>
        </form>
        </section>

        """
}

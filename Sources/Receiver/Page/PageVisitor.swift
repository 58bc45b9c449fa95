// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The rights of a page's visitor, which select the controls of the page.
struct PageVisitor: Sendable, Hashable {
    /// The visitor's rights; without ``Rights/write`` if the receiver takes no uploads.
    var rights: Rights
    /// Whether an upload may replace a file.
    var overwrites = false

    /// The visitor without any right.
    static let nobody = PageVisitor(rights: [])

    init(rights: Rights, overwrites: Bool = false) {
        self.rights = rights
        self.overwrites = overwrites
    }

    /// The visitor who sends a request.
    init(of request: Request, _ core: ReceiverCore) {
        var rights = core.access.rights(request.head.fields)?.rights ?? []
        if core.area == nil { rights.remove(.write) }
        self.init(rights: rights, overwrites: core.configuration.overwrites)
    }

    /// Whether the page of a directory has a form to send files, but no listing.
    var onlySends: Bool { self.rights.contains(.write) && !self.rights.contains(.list) }

    /// The attributes of the page's body, for its script.
    var attributes: String {
        let names: [(Rights, String)] = [(.read, "read"), (.list, "list"), (.write, "write")]
        var words = names.filter { self.rights.contains($0.0) }.map(\.1)
        if self.overwrites { words.append("overwrite") }
        return "data-may=\"\(words.joined(separator: " "))\""
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import HTTPServer
internal import Platform
internal import TransferCore

/// Selects the handler for requests for zip archives: `DIR/?zip`, with `name=` for a selection.
struct ArchiveRoutes {
    let core: ReceiverCore

    /// The maximum size of a form with names, in bytes.
    private static let longestForm = 256 << 10
    /// The maximum number of selected files for which the length is computed before the archive is sent.
    private static let mostMeasured = 256

    /// Returns the handler of a request, or `nil` if it requests something else.
    func handler(_ path: TreePath, _ request: inout Request) -> (any RequestHandler)? {
        let isForm = request.head.method == "POST"
        guard request.isRead && path.endsWithSlash || isForm,
            let query = request.target.query, query.utf8.starts(with: "zip".utf8) || query.contains("&zip")
        else { return nil }
        let items = QueryItems(query)
        guard items["zip"] != nil else { return nil }
        if let refusal = self.core.access.refusal(of: &request, needs: [.read, .list]) {
            return ImmediateHandler(refusal)
        }
        guard isForm else {
            return BlockingHandler { self.response(path, items.values("name")) }
        }
        guard QueryItems.isForm(request.head.fields) else {
            return ImmediateHandler(.message(415, "send the names as \(QueryItems.formType)"))
        }
        return CollectingHandler(limit: Self.longestForm) { content in
            self.response(path, items.values("name") + QueryItems(form: content).values("name"))
        }
    }

    /// Creates the response; blocks.
    private func response(_ path: TreePath, _ names: [String]) -> Response {
        guard let tree = self.core.tree else { return .failure(.notFound) }
        guard let place = self.core.archives.enter() else {
            return .message(503, "too many archives are being sent; try again", ["Retry-After": "10"])
        }
        do throws(UploadRefusal) {
            let selection = try Self.selection(names)
            guard
                case .directory(let directory) = try Self.checked({ () throws(TreeError) in
                    try tree.open(TreePath(names: path.names))
                })
            else { throw UploadRefusal(404, "there is no such directory") }
            let measured = try self.measure(directory, path, tree, selection)
            let walk = try Self.checked { () throws(TreeError) in
                try TreeWalk(directory, at: path, of: tree, selection: selection)
            }
            let source = ArchiveSource(
                ArchiveWork(walk, promised: measured?.sizes),
                length: measured?.length,
                place: place
            )
            let name = TreePath.encode((path.name ?? "files") + ".zip")
            let fields: HeaderFields = [
                "Content-Type": "application/zip", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff",
                "Content-Disposition": "attachment; filename*=UTF-8''\(name)",
                "Cross-Origin-Resource-Policy": "same-origin",
            ]
            return Response(200, fields, .stream(source))
        } catch {
            return error.response
        }
    }

    /// The names of a selection without duplicates; `nil` for everything.
    ///
    /// - Throws: ``UploadRefusal`` with 400 if a name is not that of an entry.
    static func selection(_ names: [String]) throws(UploadRefusal) -> [String]? {
        guard !names.isEmpty else { return nil }
        var known: Set<String> = []
        var selection: [String] = []
        for name in names {
            let plain = name.hasSuffix("/") ? String(name.dropLast()) : name
            guard !plain.isEmpty, plain != ".", plain != "..", !plain.contains("/"), !plain.utf8.contains(0) else {
                throw UploadRefusal(400, "'name' is the name of a file or directory in this directory")
            }
            if known.insert(plain).inserted { selection.append(plain) }
        }
        return selection
    }

    /// Finds the selected entries; measures the archive if they are some files.
    ///
    /// - Throws: ``UploadRefusal`` with 404 if one does not exist, so that the client learns it before the archive.
    private func measure(
        _ directory: OpenFile,
        _ path: TreePath,
        _ tree: ServedTree,
        _ selection: [String]?
    ) throws(UploadRefusal) -> (length: Int64, sizes: [Int64])? {
        guard let selection else { return nil }
        var files: [TreeWalk.Item] = []
        var hasAll = selection.count <= Self.mostMeasured
        for name in selection {
            let found = try Self.checked { () throws(TreeError) in
                try tree.open(TreePath(names: path.names + [name]))
            }
            guard hasAll, case .file(let file, _) = found, let status = file.status() else {
                hasAll = false
                continue
            }
            // Only the metadata is kept, not the open file.
            files.append(TreeWalk.Item(names: [name], entry: .directory(directory), status: status))
        }
        return hasAll ? (ArchiveWork.length(of: files), files.map { Int64($0.status.st_size) }) : nil
    }

    private static func checked<Value>(_ body: () throws(TreeError) -> Value) throws(UploadRefusal) -> Value {
        do throws(TreeError) {
            return try body()
        } catch {
            switch error {
            case .notFound: throw UploadRefusal(404, "there is nothing here of one of these names")
            case .forbidden: throw UploadRefusal(403, "this cannot be read")
            case .busy: throw UploadRefusal(503, "too many files are open; try again", ["Retry-After": "5"])
            case .failed: throw UploadRefusal(500, "reading failed")
            }
        }
    }
}

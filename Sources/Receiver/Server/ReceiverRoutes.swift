// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import NIOCore
internal import TransferCore

/// Selects the handler of a request.
struct ReceiverRoutes: Sendable {
    /// Returns the handler of a request, and sets its method and user.
    func handler(for request: inout Request, _ core: ReceiverCore) -> any RequestHandler {
        if let method = TusProtocol.overridingMethod(request.head) { request.head.method = method }
        if let refusal = core.access.refusal(
            request.head,
            localAddress: request.localAddress,
            authority: request.authority
        ) {
            return ImmediateHandler(refusal)
        }
        return self.permitted(&request, core)
    }

    private func permitted(_ request: inout Request, _ core: ReceiverCore) -> any RequestHandler {
        let path: TreePath
        do throws(SyntaxError) {
            path = request.target.path == "*" ? .root : try TreePath(parsing: request.target.path)
        } catch {
            return ImmediateHandler(.message(400, error.message))
        }
        // The same for every path: browsers send CORS preflight requests without credentials.
        if request.head.method == "OPTIONS" { return ImmediateHandler(self.options(request, core)) }
        if path.names.first == PageAssets.directory { return PageAssets.handler(path, request) }
        if let handler = SessionRoutes(core: core).handler(path, &request) { return handler }
        if path.names.first == ShareLink.directory {
            return ShareRoutes(core: core).handler(path, &request)
        }
        if path.names.first == ServedTree.ownDirectory { return UploadRoutes(core: core).resource(path, &request) }
        if let handler = ArchiveRoutes(core: core).handler(path, &request) { return handler }
        switch request.head.method {
        case "GET", "HEAD":
            return self.reading(path, &request, core)
        case "PUT", "POST":
            return UploadRoutes(core: core).handler(path, &request)
        default:
            return self.noSuchMethod(core)
        }
    }

    private func noSuchMethod(_ core: ReceiverCore) -> any RequestHandler {
        ImmediateHandler(.message(405, "this method is not for this path", ["Allow": Self.allowed(core)]))
    }

    /// The response to OPTIONS: the server's capabilities.
    private func options(_ request: Request, _ core: ReceiverCore) -> Response {
        var fields: HeaderFields = ["Allow": Self.allowed(core)]
        guard core.area != nil else { return Response(204, fields) }
        let limits = core.configuration.limits
        for (name, value) in TusProtocol.capabilities(limits) { fields.append(name, value) }
        fields.append(DraftVersion.field, "\((DraftVersion(fields: request.head.fields) ?? .latest).rawValue)")
        fields.append("Upload-Limit", DraftVersion.limit(limits))
        fields.append("Accept-Patch", "\(TusProtocol.contentType), \(DraftVersion.contentType)")
        return Response(204, fields)
    }

    /// The methods for files and directories; PATCH and DELETE apply only to the resource of an upload.
    static func allowed(_ core: ReceiverCore) -> String {
        core.area == nil ? "GET, HEAD, OPTIONS" : "GET, HEAD, OPTIONS, PUT, POST"
    }

    // MARK: Reading

    private func reading(_ path: TreePath, _ request: inout Request, _ core: ReceiverCore) -> any RequestHandler {
        guard let tree = core.tree else { return ImmediateHandler(.failure(.notFound)) }
        // Checked before any lookup, so that an unauthorized client does not learn which files exist.
        if let refusal = core.access.refusal(of: &request, needs: path.endsWithSlash ? .list : .read) {
            // Not in place of 401 or 429: the credentials were checked, and permit something else.
            guard refusal.status == 403, path.endsWithSlash else { return ImmediateHandler(refusal) }
            let page = ListingPage(path: path, visitor: PageVisitor(of: request, core))
            return ImmediateHandler(page.sendPage(accept: request.head.fields.joined("Accept")) ?? refusal)
        }
        do throws(TreeError) {
            switch try tree.open(path) {
            case .file(let file, let facts):
                return self.file(path, file, facts, request, core)
            case .directory(let directory):
                return self.directory(path, directory, request, core)
            }
        } catch {
            return ImmediateHandler(.failure(error))
        }
    }

    private func file(
        _ path: TreePath,
        _ file: OpenFile,
        _ facts: FileFacts,
        _ request: Request,
        _ core: ReceiverCore
    ) -> any RequestHandler {
        var response = FileResponse(name: path.name ?? "", facts: facts)
        response.hasRanges = request.head.method == "GET"
        let fields = request.head.fields
        guard let algorithm = WantedDigest.algorithm(fields["Want-Repr-Digest"]) else {
            return ImmediateHandler(response.response(fields, file, now: Timestamp.now))
        }
        if let digest = core.digests.digest(algorithm, facts) {
            response.digest = WantedDigest.field(algorithm, digest)
        } else if facts.length <= DigestCache.longestInPlace {
            response.digest = core.digests.compute(algorithm, file, facts).map { WantedDigest.field(algorithm, $0) }
        } else if facts.length <= DigestCache.longestWait {
            let plan = response
            return BlockingHandler {
                var plan = plan
                plan.digest = core.digests.compute(algorithm, file, facts).map { WantedDigest.field(algorithm, $0) }
                return plan.response(fields, file, now: Timestamp.now)
            }
        } else {
            // Hashing takes longer than a client should wait; a later request gets the digest.
            core.digestInBackground(algorithm, file, facts)
        }
        return ImmediateHandler(response.response(fields, file, now: Timestamp.now))
    }

    private func directory(
        _ path: TreePath,
        _ directory: OpenFile,
        _ request: Request,
        _ core: ReceiverCore
    ) -> any RequestHandler {
        guard path.endsWithSlash else {
            var target = path
            target.endsWithSlash = true
            // A path, not a URL: `Host` cannot be trusted.
            return ImmediateHandler(.message(301, "this is a directory", ["Location": target.url]))
        }
        guard let tree = core.tree else { return ImmediateHandler(.failure(.notFound)) }
        return ListingHandler(
            directory,
            at: path,
            of: tree,
            place: core.listings,
            accept: request.head.fields.joined("Accept"),
            visitor: PageVisitor(of: request, core),
            base: core.base
        )
    }
}

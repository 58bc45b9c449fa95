internal import FileStorage
internal import NIOCore
internal import TransferCore

/// Selects the exchange that handles a request.
struct Router: Sendable {
    /// Returns the exchange for a request head, and the request with its target and user; `nil` if the target is
    /// invalid.
    func route(
        _ head: RequestHead,
        peer: String,
        local: String?,
        isSecure: Bool,
        _ core: ReceiverCore
    ) -> (Request?, any Exchange) {
        var head = head
        if let method = TusProtocol.overridingMethod(head) { head.method = method }
        guard let target = RequestTarget(head.target) else {
            return (nil, ImmediateExchange(.message(400, "this is no target for a server")))
        }
        var request = Request(head: head, target: target, peer: peer, user: nil, isSecure: isSecure)
        if let refusal = core.access.refusal(head, localAddress: local) { return (request, ImmediateExchange(refusal)) }
        let exchange = self.exchange(for: &request, core)
        return (request, exchange)
    }

    private func exchange(for request: inout Request, _ core: ReceiverCore) -> any Exchange {
        let path: TreePath
        do throws(TreePath.Refusal) {
            path = request.target.path == "*" ? .root : try TreePath(parsing: request.target.path)
        } catch {
            return ImmediateExchange(.message(400, error.message))
        }
        // The same for every path: browsers send CORS preflight requests without credentials.
        if request.head.method == "OPTIONS" { return ImmediateExchange(self.options(request, core)) }
        if path.names.first == ShareLink.directory {
            return ImmediateExchange(core.shares.answer(path, request, now: Timestamp.now))
        }
        if path.names.first == ServedTree.ownDirectory { return UploadRoutes(core: core).resource(path, &request) }
        switch request.head.method {
        case "GET", "HEAD":
            return self.reading(path, &request, core)
        case "PUT", "POST":
            return UploadRoutes(core: core).exchange(path, &request)
        default:
            return self.noSuchMethod(core)
        }
    }

    private func noSuchMethod(_ core: ReceiverCore) -> any Exchange {
        ImmediateExchange(.message(405, "this method is not for this path", ["Allow": Self.allowed(core)]))
    }

    /// The response to OPTIONS: the server's capabilities.
    private func options(_ request: Request, _ core: ReceiverCore) -> Answer {
        var fields: HeaderFields = ["Allow": Self.allowed(core)]
        guard core.area != nil else { return Answer(204, fields) }
        let limits = core.configuration.limits
        for (name, value) in TusProtocol.capabilities(limits) { fields.append(name, value) }
        fields.append(DraftVersion.field, "\((DraftVersion(fields: request.head.fields) ?? .latest).rawValue)")
        fields.append("Upload-Limit", DraftVersion.limit(limits))
        fields.append("Accept-Patch", "\(TusProtocol.contentType), \(DraftVersion.contentType)")
        return Answer(204, fields)
    }

    /// The methods for files and directories; PATCH and DELETE apply only to the resource of an upload.
    static func allowed(_ core: ReceiverCore) -> String {
        core.area == nil ? "GET, HEAD, OPTIONS" : "GET, HEAD, OPTIONS, PUT, POST"
    }

    // MARK: Reading

    private func reading(_ path: TreePath, _ request: inout Request, _ core: ReceiverCore) -> any Exchange {
        guard let tree = core.tree else { return ImmediateExchange(.failure(.notFound)) }
        // Checked before any lookup, so that an unauthorized client does not learn which files exist.
        switch core.access.verdict(request.head.fields, needs: path.endsWithSlash ? .list : .read, from: request.peer) {
        case .allowed(let user): request.user = user
        case .refused(let answer): return ImmediateExchange(answer)
        }
        do throws(TreeError) {
            switch try tree.open(path) {
            case .file(let file, let facts):
                return self.file(path, file, facts, request, core)
            case .directory(let directory):
                return self.directory(path, directory, request, core)
            }
        } catch {
            return ImmediateExchange(.failure(error))
        }
    }

    private func file(
        _ path: TreePath,
        _ file: OpenFile,
        _ facts: FileFacts,
        _ request: Request,
        _ core: ReceiverCore
    ) -> any Exchange {
        var answer = FileAnswer(name: path.name ?? "", facts: facts)
        answer.hasRanges = request.head.method == "GET"
        let fields = request.head.fields
        guard let algorithm = WantedDigest.algorithm(fields["Want-Repr-Digest"]) else {
            return ImmediateExchange(answer.answer(fields, file, now: Timestamp.now))
        }
        if let digest = core.digests.digest(algorithm, facts) {
            answer.digest = WantedDigest.field(algorithm, digest)
        } else if facts.length <= DigestCache.longestInPlace {
            answer.digest = core.digests.compute(algorithm, file, facts).map { WantedDigest.field(algorithm, $0) }
        } else if facts.length <= DigestCache.longestWait {
            let plan = answer
            return BlockingExchange {
                var plan = plan
                plan.digest = core.digests.compute(algorithm, file, facts).map { WantedDigest.field(algorithm, $0) }
                return plan.answer(fields, file, now: Timestamp.now)
            }
        } else {
            // Hashing takes longer than a client should wait; a later request gets the digest.
            core.digestInBackground(algorithm, file, facts)
        }
        return ImmediateExchange(answer.answer(fields, file, now: Timestamp.now))
    }

    private func directory(
        _ path: TreePath,
        _ directory: OpenFile,
        _ request: Request,
        _ core: ReceiverCore
    ) -> any Exchange {
        guard path.endsWithSlash else {
            var target = path
            target.endsWithSlash = true
            // A path, not a URL: `Host` cannot be trusted.
            return ImmediateExchange(.message(301, "this is a directory", ["Location": target.url]))
        }
        guard let tree = core.tree else { return ImmediateExchange(.failure(.notFound)) }
        var takesUploads = core.configuration.takesUploads
        if case .refused = core.access.verdict(request.head.fields, needs: .write, from: request.peer) {
            takesUploads = false
        }
        return ListingExchange(
            directory,
            at: path,
            of: tree,
            place: core.listings,
            accept: request.head.fields.joined("Accept"),
            takesUploads: takesUploads
        )
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import HTTPServer
internal import NIOPosix
internal import TransferCore

/// Selects the handler for requests below `/.martlet-share`: for links, and for making, listing and revoking them.
struct ShareRoutes {
    let core: ReceiverCore

    func handler(_ path: TreePath, _ request: inout Request) -> any RequestHandler {
        let method = request.head.method
        guard path.names.count == 1 || method == "DELETE" else { return self.link(path, request) }
        // Links are made for files below the directory; without one, requests need no credentials.
        guard self.core.tree != nil else { return ImmediateHandler(.failure(.notFound)) }
        if let refusal = self.core.access.refusal(of: &request, needs: .read) { return ImmediateHandler(refusal) }
        // Anybody may read a public directory, but not make links that outlive that.
        if let refusal = self.core.access.refusalOfUnknown(request.head.fields) { return ImmediateHandler(refusal) }
        let user = request.user
        let seesAll = self.core.access.rights(request.head.fields)?.rights == .all
        // Those of `--share` are for the user who runs the receiver: they may be for files outside the directory.
        let isOwn: @Sendable (StoredLink) -> Bool = { $0.origin != .option && (seesAll || $0.creator == user) }
        let shares = self.core.shares
        switch method {
        case "GET", "HEAD":
            let snapshot = request
            // Nameless credentials cannot be distinguished: they would list each other's files.
            let isListed: @Sendable (StoredLink) -> Bool = { isOwn($0) && (seesAll || user != nil) }
            return BlockingHandler { Self.list(shares.list(now: Timestamp.now, where: isListed), snapshot) }
        case "POST":
            guard let type = request.head.fields["Content-Type"], Self.isJSON(type) else {
                return ImmediateHandler(.message(415, "describe the link as application/json"))
            }
            let (core, snapshot) = (self.core, request)
            return CollectingHandler(limit: 16 << 10) { Self.make(from: $0, snapshot, core) }
        case "DELETE" where path.names.count > 1:
            let token = path.names[1]
            return BlockingHandler {
                do throws(UploadRefusal) {
                    guard try shares.revoke(token, now: Timestamp.now, where: isOwn) else {
                        return .failure(.notFound)
                    }
                    return Response(204)
                } catch {
                    return error.response
                }
            }
        default:
            return ImmediateHandler(.message(405, "links are made by POST", ["Allow": "GET, HEAD, POST"]))
        }
    }

    private func link(_ path: TreePath, _ request: Request) -> any RequestHandler {
        let core = self.core
        let token = path.names[1]
        if request.isRead, let query = request.target.query, QueryItems(query)["qr"] != nil {
            return BlockingHandler { Self.qr(core.shares.link(token), request) }
        }
        if request.head.method == "POST", QueryItems.isForm(request.head.fields) {
            return CollectingHandler(limit: 16 << 10) { content in
                guard let link = core.shares.link(token), let hash = link.password else {
                    return .message(405, "a link supports GET and HEAD", ["Allow": "GET, HEAD"])
                }
                return core.gate.opened(QueryItems(form: content), link, hash, request)
            }
        }
        return BlockingHandler {
            var path = path
            if let link = core.shares.link(token), let hash = link.password, link.revoked == nil {
                if let refusal = core.gate.refusal(link, hash, request) { return refusal }
                if path.names.count == 2 { path.names.append(link.name) }
            }
            return core.shares.response(path, request, now: Timestamp.now) { work in
                core.pool.submit { _ in work() }
            }
        }
    }

    /// The QR code of a link's URL; does not count as a download.
    private static func qr(_ link: StoredLink?, _ request: Request) -> Response {
        guard let link, link.revoked == nil else { return .failure(.notFound) }
        guard let code = QRCode(AbsoluteLocation.url(link.url, request)) else {
            return .message(404, "the link is too long for a QR code")
        }
        let fields: HeaderFields = [
            "Content-Type": "image/svg+xml", "Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": "default-src 'none'; sandbox",
        ]
        return Response(200, fields, .bytes(Array(code.svg.utf8)))
    }

    private static func isJSON(_ type: String) -> Bool {
        type.prefix { $0 != ";" && $0 != " " }.lowercased() == AcceptedFormat.json.mediaType
    }

    /// Makes the link that a request describes.
    private static func make(from content: [UInt8], _ request: Request, _ core: ReceiverCore) -> Response {
        do throws(UploadRefusal) {
            let offer = try LinkOffer(parsing: content)
            guard core.mayMakeLinks else {
                throw UploadRefusal(503, "another martlet serve stores the links of this directory")
            }
            let now = Timestamp.now
            guard let tree = core.tree, case .file(let file, _)? = try? tree.open(offer.path),
                let status = file.status()
            else { throw UploadRefusal(404, "there is no such file") }
            var link = StoredLink(
                .request,
                path: offer.path.names,
                file: FileIdentity(linked: status),
                created: now,
                lifetime: offer.lifetime ?? core.configuration.shareLifetime,
                downloads: offer.downloads ?? core.configuration.shareDownloads,
                creator: request.user
            )
            link.password = offer.password.map { PasswordHash($0, rounds: core.configuration.passwordRounds) }
            try core.shares.make(link, now: now)
            var response = Self.json(201, self.members(link, request))
            response.fields.append("Location", link.url)
            return response
        } catch {
            return error.response
        }
    }

    private static func list(_ links: [ShareTable.Listed], _ request: Request) -> Response {
        let list = links.map { listed -> JSON in
            let members =
                self.members(listed.link, request) + [
                    JSON.Member("downloads", .integer(Int64(listed.completed))),
                    JSON.Member("usable", .bool(listed.isUsable)),
                    JSON.Member("origin", .string(listed.link.origin.rawValue)),
                    JSON.Member("created", .string(Timestamp.text(listed.link.created))),
                ]
            return .object(members)
        }
        return self.json(200, [JSON.Member("links", .array(list))])
    }

    private static func members(_ link: StoredLink, _ request: Request) -> [JSON.Member] {
        [
            JSON.Member("link", .string(AbsoluteLocation.url(link.url, request))),
            JSON.Member("path", .string(TreePath(names: link.path).url)),
            JSON.Member("name", .string(link.name)),
            JSON.Member("expires", .optional(link.expires.map { Timestamp.text($0) })),
            JSON.Member("count", .optional(link.downloads.map { Int64($0) })),
            JSON.Member("password", .bool(link.password != nil)),
            JSON.Member("qr", .string(AbsoluteLocation.url(ShareLink.qr(ofLink: link.url), request))),
        ]
    }

    static func json(_ status: Int, _ members: [JSON.Member]) -> Response {
        let fields: HeaderFields = [
            "Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
        ]
        return Response(status, fields, .bytes(JSON.object(members).bytes + [0x0A]))
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization
internal import TransferCore

/// Responses to requests for links.
extension ShareTable {
    /// The name of the cookie with the ticket of a download.
    static let ticketCookie = "martlet-share"

    /// Responds to a request for a link; blocks.
    ///
    /// HEAD, and programs that show a preview of the link, get no content and do not count. A download that counts is
    /// stored before its response.
    ///
    /// - Parameters:
    ///   - path: The path of the link.
    ///   - request: The request.
    ///   - now: The current time, in seconds since 1970.
    ///   - later: Runs blocking work soon.
    /// - Returns: The response, with its meter if it counts.
    func response(
        _ path: TreePath,
        _ request: Request,
        now: Int64,
        later: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) -> Response {
        guard request.isRead else { return .message(405, "a link supports GET and HEAD", ["Allow": "GET, HEAD"]) }
        guard path.names.count == 3 else { return .failure(.notFound) }
        guard self.refresh() else { return Self.unavailable }
        let token = path.names[1]
        let found = self.state.withLock { state in
            state.book[token].map { ($0.link, state.offered[token], $0.over(now: now) != nil) }
        }
        guard let (link, offered, isOver) = found, link.name == path.names[2] else { return .failure(.notFound) }
        guard link.revoked == nil else { return Self.gone }
        // It continues when a receiver shares its file again.
        guard link.origin != .option || offered != nil else { return isOver ? Self.gone : .failure(.notFound) }
        guard let (file, facts) = self.open(link, offered) else {
            return .message(410, "the file of this link was removed or replaced")
        }
        let length = facts.length
        var plan = FileResponse(name: link.name, facts: facts, isAttachment: true)
        plan.hasRanges = request.head.method == "GET"
        var response = plan.response(request.fields, file, now: now)
        if LinkPreview.isUserAgent(request.fields["User-Agent"]) {
            let text = "\(link.name) (\(ByteCount.binary(length)))"
            response = .message(200, text, ["Cache-Control": "no-store"])
        }
        let isHead = request.head.method == "HEAD"
        let count = isHead ? 0 : response.content.fileLength
        // A response without content of the file claims nothing, but there must be something to claim.
        let wanted = count > 0 ? count : isHead ? length : 1
        let (verdict, batch, ticket) = self.claim(token, wanted, of: length, by: request, isReal: count > 0, now: now)
        switch verdict {
        case .serve: return response
        case .gone: return Self.gone
        case .busy: return .message(503, "the last download is running", ["Retry-After": "10"])
        case .claim(let claim):
            guard count > 0 else { return response }
            guard self.persist(batch) else {
                _ = self.ended(token, claim, unsent: 0)
                return Self.unavailable
            }
            response.meter = ShareMeter(self, token: token, claim: claim, length: length, count: count, later: later)
            response.fields.append("Cache-Control", "private, no-store")
            if let ticket {
                response.fields.append(
                    "Set-Cookie",
                    "\(Self.ticketCookie)=\(ticket); Path=\(request.basePath)/\(ShareLink.directory)/\(token)/; HttpOnly; SameSite=Lax"
                        + (request.isSecure ? "; Secure" : "")
                )
            }
            return response
        }
    }

    private static let gone = Response.message(410, "this link has been used up or has expired")
    private static let unavailable = Response.message(
        503,
        "the downloads of links cannot be recorded; try again",
        ["Retry-After": "10"]
    )

    /// Decides about a request; only a real one changes the share.
    private func claim(
        _ token: String,
        _ count: Int64,
        of length: Int64,
        by request: Request,
        isReal: Bool,
        now: Int64
    ) -> (Share.Verdict, batch: UInt64, ticket: String?) {
        let client = Share.Client(
            ticket: RequestCookies.all(request.fields).first { $0.name == Self.ticketCookie }?.value,
            address: request.peer
        )
        let offer = StoredLink.makeToken()
        return self.state.withLock { state in
            guard let entry = state.book[token] else { return (.gone, 0, nil) }
            guard isReal else {
                var share = entry.share
                return (share.requested(count, of: length, by: client, offering: offer, now: now), 0, nil)
            }
            var verdict = Share.Verdict.gone
            var ticket: String?
            let batch = state.book.use(token) { share in
                verdict = share.requested(count, of: length, by: client, offering: offer, now: now)
                guard case .claim(let claim) = verdict else { return false }
                ticket = share.ticket(claim)
                return share.lease(claim, ahead: count, of: length)
            }
            return (verdict, batch, ticket)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPServer
internal import Logging
internal import NIOPosix
internal import TransferCore

/// The daemon's page and the cookie of its users; see Docs/rpc.md, "The page".
struct PageRoutes: Sendable {
    let server: ServerParts
    let access: PageAccess

    /// Adds the page's routes.
    func add(to router: inout Router) {
        router.get("/") { await self.start($0) }
        for file in PageFile.daemon where file.path != "/" {
            router.get(file.path) { file.response(to: $0) }
        }
        router.get("/page/session", self.session)
        router.post("/page/session", self.signIn)
        router.on("DELETE", "/page/session", self.signOut)
    }

    /// Returns the page, or exchanges the ticket of a link for a cookie.
    private func start(_ request: RoutedRequest) async -> Response {
        guard request.request.head.method == "GET", let ticket = QueryItems(target: request.target)["ticket"] else {
            return PageFile.daemon.first { $0.path == "/" }?.response(to: request) ?? .message(404, "no page")
        }
        var fields: HeaderFields = ["Cache-Control": "no-store", "Referrer-Policy": "no-referrer"]
        if let cookie = self.access.redeem(ticket) {
            // The ticket leaves the address bar.
            fields.append("Location", "/")
            fields.append("Set-Cookie", cookie)
        } else {
            // A link that is opened a second time in the same browser still works.
            fields.append("Location", "/?expired")
            if self.access.current(request) == nil {
                return Response(303, fields).delayed(by: self.server.failedAuthentication(request))
            }
        }
        return Response(303, fields)
    }

    /// Returns whether the cookie is valid, and renews it when half of its time is over.
    @Sendable
    private func session(_ request: RoutedRequest) async -> Response {
        guard let cookie = self.access.current(request), PageAccess.isFromPage(request) else { return Self.json(401) }
        return cookie.left < SignInCookie.lifetime / 2
            ? Self.json(200).adding("Set-Cookie", self.access.newCookie(renewing: cookie)) : Self.json(200)
    }

    /// Exchanges the token for a cookie.
    @Sendable
    private func signIn(_ request: RoutedRequest) async -> Response {
        guard PageAccess.isFromPage(request) else { return Self.json(403) }
        var verdict: TokenGate.Verdict?
        if case .success(let bytes) = request.content, let token = (try? JSON(parsing: bytes))?["token"]?.string {
            verdict = self.server.access?.verdict(token, from: TokenSender(request.request))
        }
        guard verdict == .right else { return self.server.unauthorized(verdict, request, Self.json(401)) }
        return Self.json(200).adding("Set-Cookie", self.access.newCookie())
    }

    /// Ends the cookie, and deletes it.
    @Sendable
    private func signOut(_ request: RoutedRequest) async -> Response {
        guard PageAccess.isFromPage(request) else { return Self.json(403) }
        let access = self.access
        do {
            let cookie = try await NIOThreadPool.singleton.runIfActive { try access.signOut(request) }
            return Self.json(200).adding("Set-Cookie", cookie)
        } catch {
            self.server.logger.error("a sign-out could not be stored", metadata: ["error": .string("\(error)")])
            return Self.json(500)
        }
    }

    private static func json(_ status: Int) -> Response {
        .json(status, ["signedIn": .bool(status == 200)], ["Cache-Control": "no-store"])
    }
}

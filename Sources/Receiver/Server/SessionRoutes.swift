// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Platform
internal import TransferCore

/// The requests of pages and their visitors about themselves: their rights, signing in and out.
struct SessionRoutes {
    /// Returns the client's rights, as JSON.
    static let session = ".martlet-session"
    /// Signs in by a form.
    static let signIn = ".martlet-sign-in"
    static let signOut = ".martlet-sign-out"

    let core: ReceiverCore

    /// Returns the handler of a request, or `nil` if the path is another one.
    func handler(_ path: TreePath, _ request: inout Request) -> (any RequestHandler)? {
        guard path.names.count == 1, let name = path.names.first else { return nil }
        switch name {
        case Self.session:
            guard request.isRead else { return Self.refused("GET, HEAD") }
            if let refusal = self.core.access.refusal(of: &request, needs: []) { return ImmediateHandler(refusal) }
            return ImmediateHandler(self.session(request))
        case Self.signIn where self.core.access.takesSignIn: return self.signIn(request)
        case Self.signOut where self.core.access.takesSignIn:
            guard request.head.method == "POST" else { return Self.refused("POST") }
            let (core, snapshot) = (self.core, request)
            return BlockingHandler { Self.signOut(snapshot, core) }
        default: return nil
        }
    }

    private static func refused(_ methods: String) -> ImmediateHandler {
        ImmediateHandler(.message(405, "this path supports \(methods)", ["Allow": methods]))
    }

    /// The rights and options of a page's visitor, as JSON.
    private func session(_ request: Request) -> Response {
        let (access, configuration) = (self.core.access, self.core.configuration)
        let fields = request.head.fields
        let rights = access.rights(fields)?.rights ?? []
        let writes = self.core.area != nil && rights.contains(.write)
        let names = [(Rights.read, "read"), (.list, "list"), (.write, "write")]
        let granted = names.filter { rights.contains($0.0) && ($0.0 != .write || writes) }.map { JSON.string($0.1) }
        let mayMakeLinks =
            self.core.mayMakeLinks && self.core.tree != nil && rights.contains(.read) && access.isKnown(fields)
        return ShareRoutes.json(
            200,
            [
                JSON.Member("rights", .array(granted)), JSON.Member("user", .optional(request.user)),
                JSON.Member("mayMakeLinks", .bool(mayMakeLinks)),
                JSON.Member("sharesUploads", .bool(configuration.sharesUploads && writes)),
                JSON.Member("maxUpload", .optional(configuration.limits.upload)),
                JSON.Member("signedIn", .bool(access.isSignedIn(fields))),
                JSON.Member("takesSignIn", .bool(access.takesSignIn)),
                JSON.Member("basePath", .string(self.core.base.prefix)),
            ]
        )
    }

    // MARK: Signing in

    private func signIn(_ request: Request) -> any RequestHandler {
        let language = request.head.fields["Accept-Language"]
        guard !request.isRead else {
            let target = QueryItems(target: request.head.target)["to"].flatMap(Self.target)
            return ImmediateHandler(self.page(target).response(200, language: language))
        }
        guard request.head.method == "POST" else { return Self.refused("GET, HEAD, POST") }
        guard QueryItems.isForm(request.head.fields) else {
            return ImmediateHandler(.message(415, "send the fields 'user' and 'password' as \(QueryItems.formType)"))
        }
        return CollectingHandler(limit: 16 << 10) { content in
            let form = QueryItems(form: content)
            let target = form["to"].flatMap(Self.target)
            var page = self.page(target)
            switch self.core.access.signIn(form["user"] ?? "", form["password"] ?? "", request) {
            case .signedIn(let cookie):
                return .message(
                    303,
                    "signed in",
                    ["Location": target ?? "/", "Set-Cookie": cookie, "Cache-Control": "no-store"]
                )
            case .wrong:
                page.complaint = .wrong
                return page.response(403, language: language)
            case .delayed(let seconds):
                page.complaint = .delayed(seconds: seconds)
                return page.response(429, language: language)
            }
        }
    }

    private static func signOut(_ request: Request, _ core: ReceiverCore) -> Response {
        let (cookie, failure) = core.access.signOut(request)
        guard let failure else {
            return .message(303, "signed out", ["Location": "/", "Set-Cookie": cookie])
        }
        let status = failure.code == .noSpace ? 507 : 500
        // Without the path, which is not for everybody.
        let reason = failure.errno == 0 ? "" : ": " + String(cString: strerror(failure.errno))
        return .message(
            status,
            "signed out until the receiver is restarted; this could not be stored\(reason)",
            ["Set-Cookie": cookie]
        )
    }

    private func page(_ target: String?) -> PasswordPage {
        PasswordPage(
            purpose: .signIn(hasUserNames: self.core.access.hasUserNames),
            action: self.core.base.url("/\(Self.signIn)"),
            assets: self.core.base.url("/\(PageAssets.directory)"),
            target: target
        )
    }

    /// A path and query of this server, without the base path; `nil` if a browser could read it as another server's.
    static func target(_ text: String) -> String? {
        guard text.utf8.count <= 4096, text.hasPrefix("/"), !text.hasPrefix("//"),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x5C })
        else { return nil }
        return text
    }

    /// Whether a browser shows the response to a request as a page.
    ///
    /// The request must accept HTML explicitly; requests of scripts do not, or say so by `Sec-Fetch-Mode`, which browsers
    /// send to encrypted and loopback addresses.
    static func isNavigation(_ request: Request) -> Bool {
        let fields = request.head.fields
        guard request.isRead, fields["Sec-Fetch-Mode"] ?? "navigate" == "navigate" else { return false }
        return AcceptedFormat.choose(fields.joined("Accept") ?? "*/*", preferring: .json) == .html
    }

    /// Replaces the response 401 to a browser that shows pages by a page with a form.
    ///
    /// The page has no Basic challenge: the browser would show its own prompt instead of it.
    func replaceChallenge(_ response: inout Response, to request: Request) {
        guard response.status == 401, self.core.access.takesSignIn, Self.isNavigation(request),
            response.fields["Content-Type"]?.hasPrefix("text/plain") == true
        else { return }
        let query = request.target.query.map { "?\($0)" } ?? ""
        response = self.page(Self.target(request.target.path + query))
            .response(401, language: request.head.fields["Accept-Language"])
        // RFC 9110 §15.5.2 requires a challenge; browsers ignore this one.
        response.fields.append("WWW-Authenticate", "Bearer realm=\"martlet\"")
    }
}

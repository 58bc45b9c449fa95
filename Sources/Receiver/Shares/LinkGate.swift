// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization
internal import TransferCore

/// Asks for the passwords of links; every method blocks.
///
/// A browser gets a page with a form, and a cookie for the link once the password was right. Other clients send the
/// password by HTTP Basic, with any user name. Until then nothing of the file is sent, not even its name.
final class LinkGate: Sendable {
    private let access: AccessControl
    /// The last right password of each link, so that a download by many requests hashes it once.
    private let known = Mutex<[String: TokenCheck]>([:])
    private static let mostKnown = 4096

    init(_ access: AccessControl) { self.access = access }

    /// Returns the response to a request that does not prove the password of its link; `nil` if it does.
    func refusal(_ link: StoredLink, _ hash: PasswordHash, _ request: Request) -> Response? {
        let now = Double(Timestamp.now)
        if self.cookie(link, hash).check(request.head.fields, now: now) != nil { return nil }
        guard let password = Self.basicPassword(request.head.fields) else {
            return self.question(link, request, nil)
        }
        switch self.check(password, link, hash, request) {
        case nil: return nil
        case let complaint?: return self.question(link, request, complaint)
        }
    }

    /// Responds to the form of the page.
    func opened(_ form: QueryItems, _ link: StoredLink, _ hash: PasswordHash, _ request: Request) -> Response {
        if let complaint = self.check(form["password"] ?? "", link, hash, request) {
            let status = complaint == .wrong ? 403 : 429
            return self.page(link, request, complaint)
                .response(status, language: request.head.fields["Accept-Language"])
        }
        let cookie = self.cookie(link, hash)
        return .message(
            303,
            "the file is here",
            [
                "Location": ShareLink.path(token: link.token, name: link.name), "Cache-Control": "no-store",
                "Set-Cookie": cookie.field(
                    cookie.value(now: Double(Timestamp.now)),
                    path: request.basePath + ShareLink.path(token: link.token),
                    isSecure: request.isSecure
                ),
            ]
        )
    }

    /// Checks a password; takes a part of a second, unless it is the last right one.
    ///
    /// - Returns: `nil` if it is right.
    private func check(
        _ password: String,
        _ link: StoredLink,
        _ hash: PasswordHash,
        _ request: Request
    ) -> PasswordPage.Complaint? {
        let shown = [link.token, password]
        let attempt: AccessControl.Attempt
        switch self.access.attempt(by: request.peer, showing: shown) {
        case .checked(let admitted): attempt = admitted
        case .delayed(let seconds): return .delayed(seconds: seconds)
        }
        let isRight =
            self.known.withLock({ $0[link.token] })?.accepts(password) == true || hash.accepts(password)
        self.access.finished(attempt, wrong: isRight ? [] : [shown])
        guard isRight else { return .wrong }
        self.known.withLock { known in
            if known.count >= Self.mostKnown { known.removeAll() }
            known[link.token] = TokenCheck(password)
        }
        return nil
    }

    /// The cookie of those who know the password; its key is not known to them.
    private func cookie(_ link: StoredLink, _ hash: PasswordHash) -> SignInCookie {
        SignInCookie(secret: Array(hash.text.utf8), purpose: "martlet link cookie 1 \(link.token)")
    }

    private func page(_ link: StoredLink, _ request: Request, _ complaint: PasswordPage.Complaint?) -> PasswordPage {
        PasswordPage(
            purpose: .link,
            action: request.basePath + ShareLink.path(token: link.token),
            assets: "\(request.basePath)/\(PageAssets.directory)",
            complaint: complaint
        )
    }

    /// The response that asks for the password.
    private func question(_ link: StoredLink, _ request: Request, _ complaint: PasswordPage.Complaint?) -> Response {
        if SessionRoutes.isNavigation(request) {
            var response = self.page(link, request, complaint)
                .response(401, language: request.head.fields["Accept-Language"])
            // RFC 9110 §15.5.2 requires a challenge; browsers ignore this one.
            response.fields.append("WWW-Authenticate", "Bearer realm=\"martlet link\"")
            return response
        }
        if case .delayed(let seconds)? = complaint { return AccessControl.delayed(seconds) }
        let challenge = "Basic realm=\"martlet link\", charset=\"UTF-8\""
        return .message(
            401,
            complaint == .wrong ? "the password is wrong" : "this link has a password; send it with any user name",
            ["WWW-Authenticate": challenge, "Cache-Control": "no-store"]
        )
    }

    /// The password in `Authorization: Basic`.
    ///
    /// - Source: RFC 7617 §2.
    private static func basicPassword(_ fields: HeaderFields) -> String? {
        guard let authorization = fields["Authorization"], let blank = authorization.firstIndex(of: " "),
            authorization[..<blank].lowercased() == "basic"
        else { return nil }
        let value = authorization[blank...].drop { $0 == " " }
        guard let bytes = Base64.decode(value.utf8), let colon = bytes.firstIndex(of: 0x3A) else { return nil }
        return String(decoding: bytes[(colon + 1)...], as: UTF8.self)
    }
}

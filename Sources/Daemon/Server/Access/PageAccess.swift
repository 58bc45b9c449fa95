// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPServer
internal import Synchronization
internal import TransferCore

/// Decides which browsers may use the daemon's page: those with a ticket of `martlet web`, or with the token.
final class PageAccess: Sendable {
    private struct State {
        var tickets = TicketBook()
        var listen: ServerConfiguration.Listen?
    }

    private let cookie: SignInCookie
    private let signOuts: SignOuts
    private let clock: @Sendable () -> Double
    private let state = Mutex(State())

    /// Creates the access to a page whose RPC has a token.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - signOutStore: The path of the file with the sign-outs, or `nil` for none.
    ///   - clock: Returns the current time, in seconds since 1970.
    init(token: String, signOutStore: String? = nil, clock: @escaping @Sendable () -> Double = CoreClock().now) {
        self.signOuts = SignOuts(signOutStore, clock: clock)
        self.cookie = SignInCookie(secret: Array(token.utf8), purpose: "martlet page cookie 1")
        self.clock = clock
    }

    /// Reads the sign-outs; blocks.
    ///
    /// - Throws: `StorageError`; no cookie is valid until they can be read.
    func open() throws(StorageError) { try self.signOuts.open() }

    /// Sets the address of the page.
    func bound(_ listen: ServerConfiguration.Listen) { self.state.withLock { $0.listen = listen } }

    /// Returns the page's URL with a new ticket; `nil` without a TCP listener.
    func link() -> String? {
        let ticket = GID.random().description + GID.random().description
        let now = self.clock()
        return self.state.withLock { state in
            guard var listen = state.listen else { return nil }
            if listen.host == "0.0.0.0" { listen.host = "127.0.0.1" }
            if listen.host == "::" { listen.host = "::1" }
            state.tickets.add(ticket, now: now)
            return "http://\(listen)/?ticket=\(ticket)"
        }
    }

    /// Exchanges a ticket for the `Set-Cookie` field of a new cookie; `nil` if it is unknown, used or too old.
    func redeem(_ ticket: String) -> String? {
        let now = self.clock()
        return self.state.withLock { $0.tickets.redeem(ticket, now: now) } ? self.newCookie() : nil
    }

    /// The `Set-Cookie` field of a new cookie, or of one that replaces another.
    func newCookie(renewing renewed: SignInCookie.Content? = nil) -> String {
        self.cookie.field(self.cookie.value(renewing: renewed, now: self.clock(), signOuts: self.signOuts))
    }

    /// Ends the cookies of a request, and returns the `Set-Cookie` field that deletes them; blocks.
    ///
    /// - Throws: `StorageError` if this could not be stored; it lasts until the daemon is restarted then.
    func signOut(_ request: RoutedRequest) throws(StorageError) -> String {
        let cookies = self.cookie.all(request.fields, now: self.clock(), signOuts: self.signOuts)
        try self.signOuts.add(Array(cookies))
        return self.cookie.field("")
    }

    /// The valid cookie of a request, or `nil`.
    func current(_ request: RoutedRequest) -> SignInCookie.Content? {
        self.cookie.check(request.fields, now: self.clock(), signOuts: self.signOuts)
    }

    /// Whether a request with a cookie is from the page itself, not from another one in the same browser.
    ///
    /// Browsers send `Origin` with every POST and DELETE, and `Sec-Fetch-Site` with requests to loopback addresses.
    /// `SameSite` alone does not suffice: pages of other ports of the same host are of the same site.
    ///
    /// - Source: RFC 6454 §7; Fetch Metadata Request Headers §2.3.
    static func isFromPage(_ request: RoutedRequest) -> Bool {
        if let site = request.fields["Sec-Fetch-Site"], site != "same-origin" { return false }
        guard let origin = request.fields["Origin"] else { return request.request.isRead }
        return RequestPolicy.isSame(origin, as: request.fields["Host"] ?? "")
    }

    /// Whether a request has a valid cookie and is from the page itself.
    func accepts(_ request: RoutedRequest) -> Bool { self.current(request) != nil && Self.isFromPage(request) }
}

// SPDX-License-Identifier: Apache-2.0
/// The credentials that a program was given, and the requests for which each is.
///
/// Pure value. User information of a URL is for its own origin, and needs no entry here.
package struct CredentialSources: Sendable {
    /// The credentials of servers, by origin and realm.
    package var configured = Credentials()
    /// The credentials for the origin of each transfer's first URL.
    package var own: Credential?
    /// The entries of a netrc file.
    package var netrc: Netrc?
    /// Whether passwords are sent by Basic without a challenge, as by curl.
    package var sendsAhead = false
    /// Whether a password is only used for Digest, so that it is never sent itself.
    package var usesDigestOnly = false

    /// Creates an empty collection.
    package init() {}

    /// Whether there are none.
    package var isEmpty: Bool { self.configured.isEmpty && self.own == nil && self.netrc == nil }

    /// The user name and password for a request, apart from those of ``configured``.
    ///
    /// User information of the source's URL precedes ``own``, and that the netrc file; a user name without a password
    /// gets the one that the file has for it.
    func password(for request: RequestFacts) -> Credential? {
        let isOwnOrigin = !request.hasLeftOrigin && request.source.origin == request.url.origin
        if isOwnOrigin, let user = request.source.user {
            let password = request.source.password ?? self.netrc(for: request, user: user)?.password ?? ""
            return .password(user: user, password: password)
        }
        if isOwnOrigin, request.isFirstSource, let own = self.own { return own }
        return self.netrc(for: request, user: nil).map { .password(user: $0.login ?? "", password: $0.password ?? "") }
    }

    /// The entry of the netrc file for a request.
    ///
    /// The entry without a host is for the URLs of the transfer only. A server must not redirect to another host without
    /// encryption, where a listener would read the password of that host.
    private func netrc(for request: RequestFacts, user: String?) -> Netrc.Entry? {
        guard let netrc = self.netrc else { return nil }
        let host = request.url.host
        let isSource = request.source.host == host
        guard isSource || request.url.scheme == .https else { return nil }
        return netrc.entry(for: host, user: user, includingDefault: isSource)
    }
}

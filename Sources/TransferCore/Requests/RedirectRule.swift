// SPDX-License-Identifier: Apache-2.0
/// Decides the target of a redirect, for downloads and uploads.
///
/// - Source: RFC 9110 §15.4.
package struct RedirectRule: Hashable, Sendable {
    /// The maximum number of consecutive redirects.
    package var maximum: Int
    /// Whether https may redirect to http.
    package var allowsDowngrade: Bool

    /// Creates a rule.
    package init(maximum: Int, allowsDowngrade: Bool) {
        self.maximum = maximum
        self.allowsDowngrade = allowsDowngrade
    }

    /// Resolves the target of a redirect.
    ///
    /// - Parameters:
    ///   - location: The `Location` field.
    ///   - url: The URL that responded.
    ///   - hops: The number of redirects followed before.
    /// - Returns: The absolute URL.
    /// - Throws: If the redirect must not be followed, regardless of a policy.
    package func target(of location: String, from url: HTTPURL, hops: Int) throws(TransferFailure) -> HTTPURL {
        let next: HTTPURL
        do {
            next = try url.resolving(location)
        } catch {
            throw TransferFailure(.redirects, "unsupported redirect target: \(error.message)")
        }
        if url.scheme == .https, next.scheme == .http, !self.allowsDowngrade {
            throw TransferFailure(.redirects, "redirected from https to \(next.redacted), which is not encrypted")
        }
        guard hops < self.maximum else {
            throw TransferFailure(.redirects, "more than \(self.maximum) redirects")
        }
        return next
    }

    /// The method of the request that follows a redirect: a POST becomes a GET at 301, 302 and 303.
    package static func method(after method: String, status: Int) -> String {
        switch status {
        case 303: method == "HEAD" ? method : "GET"
        case 301, 302: method == "POST" ? "GET" : method
        default: method
        }
    }

    /// The failure of a redirect that a policy did not allow.
    package static func refused(_ next: HTTPURL, status: Int) -> TransferFailure {
        TransferFailure(
            .redirects,
            "the redirect (\(status)) to \(next.redacted) was not followed",
            status: status
        )
    }
}

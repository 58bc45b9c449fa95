// SPDX-License-Identifier: Apache-2.0
/// Decides the target of a redirect, and whether content is sent to it.
///
/// - Source: RFC 9110 §15.4.
package struct RedirectRule: Hashable, Sendable {
    /// The maximum number of consecutive redirects.
    package var maximum: Int
    /// Whether https may redirect to http.
    package var allowsDowngrade: Bool

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

    /// Whether a status redirects to the URL of `Location`.
    package static func isRedirect(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// Whether a redirect is followed by GET without content: at 303 unless the method only reads, and after POST at 301
    /// and 302.
    package static func dropsContent(of method: String, status: Int) -> Bool {
        switch status {
        case 303: !RequestMethod.isSafe(method)
        case 301, 302: method == "POST"
        default: false
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

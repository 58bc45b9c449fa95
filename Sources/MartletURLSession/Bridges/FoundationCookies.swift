// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Martlet
internal import MartletFoundation

/// Foundation's cookie storage, from which requests take their cookies, also after a redirect.
final class FoundationCookies: ForeignCookies {
    private let storage: HTTPCookieStorage
    private let policy: HTTPCookie.AcceptPolicy

    init(_ storage: HTTPCookieStorage, accepts policy: HTTPCookie.AcceptPolicy) {
        self.storage = storage
        self.policy = policy
    }

    func field(for url: HTTPURL, of task: TransferTask?) -> String? {
        guard Self.handlesCookies(task), let url = URL(url) else { return nil }
        let cookies = self.storage.cookies(for: url) ?? []
        return cookies.isEmpty ? nil : HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
    }

    func received(_ fields: HeaderFields, from url: HTTPURL, of task: TransferTask?) {
        let values = fields.values("Set-Cookie")
        guard !values.isEmpty, Self.handlesCookies(task), let url = URL(url) else { return }
        switch self.policy {
        case .never: return
        case .always: break
        case .onlyFromMainDocumentDomain:
            // The main document of a task is the first request of it.
            guard task.map({ $0.request.url.host == url.host }) ?? true else { return }
        }
        for value in values {
            // One by one: joined by commas they could not be separated at a date.
            for cookie in HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: url) {
                self.storage.setCookie(cookie)
            }
        }
    }

    private static func handlesCookies(_ task: TransferTask?) -> Bool {
        (task?.userInfo as? TaskReference)?.task?.originalRequest?.httpShouldHandleCookies ?? true
    }
}

extension Cookie {
    /// A copy of Foundation's cookie.
    ///
    /// - Throws: `CookieError` if it cannot be sent.
    init(_ cookie: HTTPCookie) throws {
        try self.init(
            name: cookie.name,
            value: cookie.value,
            domain: cookie.domain,
            path: cookie.path,
            expires: cookie.expiresDate,
            isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly
        )
    }
}

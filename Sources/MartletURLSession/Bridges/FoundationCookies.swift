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
        return self.storage.field(for: url)
    }

    func received(_ fields: HeaderFields, from url: HTTPURL, of task: TransferTask?) {
        let values = fields.values("Set-Cookie")
        guard !values.isEmpty, Self.handlesCookies(task), let url = URL(url) else { return }
        switch self.policy {
        case .never: return
        case .always: break
        case .onlyFromMainDocumentDomain:
            // Without a main document, every host's cookies are its own, as with Foundation.
            let document = (task?.userInfo as? TaskReference)?.task?.originalRequest?.mainDocumentURL?.host
            guard document.map({ Self.isInside(url.host ?? "", $0) }) ?? true else { return }
        }
        for value in values {
            // One by one: joined by commas they could not be separated at a date.
            for cookie in HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: url) {
                self.storage.setCookie(cookie)
            }
        }
    }

    /// Whether a host is that of the main document, or one of the two is a subdomain of the other.
    private static func isInside(_ host: String, _ document: String) -> Bool {
        let (host, document) = (host.lowercased(), document.lowercased())
        return host == document || host.hasSuffix(".\(document)") || document.hasSuffix(".\(host)")
    }

    private static func handlesCookies(_ task: TransferTask?) -> Bool {
        (task?.userInfo as? TaskReference)?.task?.originalRequest?.httpShouldHandleCookies ?? true
    }
}

extension HTTPCookieStorage {
    /// The `Cookie` field of a request for a URL; `nil` without cookies for it.
    func field(for url: URL) -> String? {
        let cookies = self.cookies(for: url) ?? []
        return cookies.isEmpty ? nil : HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
    }
}

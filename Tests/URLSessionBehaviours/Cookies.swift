// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// A default configuration with an empty storage of cookies.
    private static func emptied(
        _ configuration: URLSessionConfiguration = .default
    ) -> URLSessionConfiguration {
        for cookie in configuration.httpCookieStorage?.cookies ?? [] {
            configuration.httpCookieStorage?.deleteCookie(cookie)
        }
        return configuration
    }

    /// Cookies that responses set.
    static var cookies: [Behaviour] {
        [
            Behaviour("cookiesNeverAccepted", .corelibs("test_disableCookiesStorage")) { context in
                let server = try await context.serve()
                let session = context.session(configuration: Self.emptied()) { $0.httpCookieAcceptPolicy = .never }
                let outcome = try await session.outcome(of: try server.request("cookie", "POST"))
                try context.check(outcome.http?.allHeaderFields["Set-Cookie"] != nil, "there is no Set-Cookie")
                try context.equal(HTTPCookieStorage.shared.cookies?.count, 0, "the number of cookies")
            },
            Behaviour("cookiesStored", .corelibs("test_cookiesStorage")) { context in
                let server = try await context.serve()
                let session = context.session(configuration: Self.emptied())
                let outcome = try await session.outcome(of: try server.request("cookie", "POST"))
                try context.check(outcome.http?.allHeaderFields["Set-Cookie"] != nil, "there is no Set-Cookie")
                let cookies = try context.unwrap(HTTPCookieStorage.shared.cookies, "list of cookies")
                try context.equal(cookies.map(\.name), ["flavour"], "the list of names")
                try context.equal(cookies.map(\.value), ["plain"], "the list of values")
            },
            Behaviour("cookiesOfRedirect", .corelibs("test_redirectionWithSetCookies")) { context in
                let server = try await context.serve { request in
                    let fields = [("Location", "/hello"), ("Set-Cookie", "redirect=true; Max-Age=7776000; path=/")]
                    return request.path == "/start"
                        ? .response(302, fields) : .response(200, text: request["Cookie"] ?? "none")
                }
                let outcome = try await context.session(configuration: Self.emptied())
                    .outcome(of: try server.request("start"))
                try context.equal(outcome.text, "redirect=true", "the cookie of the second request")
            },
            Behaviour("cookiesSentLater", .corelibs("test_previouslySetCookiesAreSentInLaterRequests")) { context in
                let server = try await context.serve()
                let session = context.session(configuration: Self.emptied())
                _ = try await session.outcome(of: try server.request("cookie", "POST"))
                _ = try await session.outcome(of: try server.request("hello", "POST"))
                try context.equal(try server.last()["Cookie"], "flavour=plain", "the cookie")
            },
            Behaviour("cookiesOfEphemeralSession", .corelibs("test_cookieStorageForEphemeralConfiguration")) {
                context in
                let server = try await context.serve()
                let configuration = Self.emptied(.ephemeral)
                let session = context.session(configuration: configuration)
                _ = try await session.outcome(of: try server.request("cookie", "POST"))
                try context.equal(configuration.httpCookieStorage?.cookies?.count, 1, "the number of cookies")
                let other = URLSessionConfiguration.ephemeral.httpCookieStorage?.cookies?.count
                try context.equal(other, 0, "the number of cookies of another configuration")
            },
            Behaviour("cookiesNotSet", .corelibs("test_setCookieHeadersCanBeIgnored")) { context in
                let server = try await context.serve()
                let session = context.session(configuration: Self.emptied()) { $0.httpShouldSetCookies = false }
                _ = try await session.outcome(of: try server.request("cookie", "POST"))
                _ = try await session.outcome(of: try server.request("hello", "POST"))
                try context.equal(try server.last()["Cookie"], nil, "the cookie")
            },
        ]
    }
}

// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Cookies {
    static func cookies() throws {
        // snippet: cookies-storage
        let cookies = CookieStorage()
        let url = try HTTPURL("https://example.org/")
        cookies.set(setCookie: "theme=dark; Path=/; Max-Age=3600", from: url)
        cookies.set(
            try Cookie(name: "id", value: "42", domain: ".example.org", isSecure: true, created: 1_790_000_000)
        )
        print(cookies.cookies(for: url).map(\.name))

        var configuration = SessionConfiguration.default
        configuration.cookies = cookies
        configuration.cookieAcceptance = .onlyFromFirstHost
        // end
        _ = configuration
    }

    static func files(_ cookies: CookieStorage) throws {
        // snippet: cookies-files
        for problem in try cookies.load(from: "cookies.txt") { print(problem) }
        try cookies.save(to: "cookies.txt", includingSessionCookies: true)
        // end
    }

    static func credentials() throws {
        // snippet: credentials-configuration
        var configuration = SessionConfiguration.default
        configuration.credentials.set(
            .password(user: "anna", password: "secret"),
            for: try HTTPURL("https://files.example.org/"),
            realm: "archive"
        )
        configuration.credentials.set(.bearer("eyJhbGciOi…"), for: try HTTPURL("https://api.example.org/"))
        // end
        _ = configuration
    }
}

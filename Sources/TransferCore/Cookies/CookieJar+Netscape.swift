// SPDX-License-Identifier: Apache-2.0
extension CookieJar {
    /// Creates a jar with the cookies of a cookie file.
    ///
    /// - Parameters:
    ///   - bytes: The content of the file, as written by browser exports, curl and wget.
    ///   - now: The current time in seconds since 1970; expired cookies are skipped.
    ///   - publicSuffixes: A public suffix list; see ``init(publicSuffixes:)``.
    ///   - problems: Receives the problems by line; valid lines are read nevertheless.
    package init(
        netscape bytes: [UInt8],
        now: Int64,
        publicSuffixes: PublicSuffixes = .builtIn,
        problems: inout [CookieFileProblem]
    ) {
        self.init(publicSuffixes: publicSuffixes)
        problems += self.load(netscape: bytes, now: now)
    }

    /// Adds the cookies of a cookie file.
    ///
    /// - Parameters:
    ///   - bytes: The content of the file.
    ///   - now: The current time in seconds since 1970; expired cookies are skipped.
    /// - Returns: The problems by line; valid lines are read nevertheless.
    @discardableResult
    package mutating func load(netscape bytes: [UInt8], now: Int64) -> [CookieFileProblem] {
        var problems: [CookieFileProblem] = []
        var cookies: [Cookie] = []
        var number = 0
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        for line in text.split(separator: Byte.lf, omittingEmptySubsequences: false) {
            number += 1
            do throws(SyntaxError) {
                guard let cookie = try NetscapeCookieLine.parse(line, now: now) else { continue }
                if !cookie.isHostOnly, self.publicSuffixes.isPublicSuffix(cookie.domain) {
                    throw SyntaxError(
                        .publicSuffix,
                        "the cookie would be sent to every host below a public suffix; write FALSE in the second field"
                    )
                }
                cookies.append(cookie)
            } catch {
                problems.append(CookieFileProblem(line: number, message: error.message))
            }
        }
        let dropped = self.set(cookies, now: now)
        if dropped > 0 {
            problems.append(
                CookieFileProblem(
                    line: number,
                    message: "there are more than \(Self.mostPerDomain) cookies for one domain or \(Self.most) in all; "
                        + "the oldest \(dropped) were dropped"
                )
            )
        }
        return problems
    }

    /// Writes a cookie file that browser imports, curl and wget can read, the oldest cookie first.
    ///
    /// The format cannot represent the rule for other sites and the creation time of a cookie. Call
    /// ``removeExpired(now:)`` first.
    ///
    /// - Parameter includingSessionCookies: Whether to write cookies without an expiry time as well.
    /// - Returns: The file's text.
    package func netscapeText(includingSessionCookies: Bool) -> String {
        var text = "# Netscape HTTP Cookie File\n# Written by Martlet. It may contain secrets: do not share it.\n\n"
        for cookie in self.cookies where includingSessionCookies || cookie.expires != nil {
            text += NetscapeCookieLine.format(cookie)
            text += "\n"
        }
        return text
    }
}

/// A problem in a line of a cookie file.
public struct CookieFileProblem: Hashable, Sendable, CustomStringConvertible {
    /// The line number, from 1.
    public var line: Int
    /// The problem and how to fix it; never contains a cookie's value.
    public var message: String

    /// Creates a problem.
    public init(line: Int, message: String) {
        self.line = line
        self.message = message
    }

    /// The line number and the problem.
    public var description: String { "line \(self.line): \(self.message)" }
}

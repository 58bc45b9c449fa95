extension CookieJar {
    /// Creates a jar with the cookies of a cookie file.
    ///
    /// - Parameters:
    ///   - bytes: What the file holds, as browsers' exports, curl and wget write it.
    ///   - now: The present in seconds since 1970; cookies that have ended are passed over.
    ///   - publicSuffixes: A public suffix list; see ``init(publicSuffixes:)``.
    ///   - problems: Gets what is wrong, line by line; the good lines are taken in spite of it.
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
    ///   - bytes: What the file holds.
    ///   - now: The present in seconds since 1970; cookies that have ended are passed over.
    /// - Returns: What is wrong, line by line; the good lines are taken in spite of it.
    @discardableResult
    package mutating func load(netscape bytes: [UInt8], now: Int64) -> [CookieFileProblem] {
        var problems: [CookieFileProblem] = []
        var cookies: [Cookie] = []
        var number = 0
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        for line in text.split(separator: Byte.lf, omittingEmptySubsequences: false) {
            number += 1
            do throws(CookieError) {
                guard let cookie = try NetscapeCookieLine.parse(line, now: now) else { continue }
                if !cookie.isHostOnly, self.publicSuffixes.isPublicSuffix(cookie.domain) {
                    throw CookieError(
                        .publicSuffix,
                        "the cookie would go to every host below a public suffix; write FALSE in the second field"
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
                        + "the oldest \(dropped) are left out"
                )
            )
        }
        return problems
    }

    /// Writes a cookie file that browsers' imports, curl and wget read, the oldest cookie first.
    ///
    /// The format has no place for what was said about other sites and for when a cookie was made. Call
    /// ``removeExpired(now:)`` first.
    ///
    /// - Parameter includingSessionCookies: Whether to write those that have no end, too.
    /// - Returns: The file's text.
    package func netscapeText(includingSessionCookies: Bool) -> String {
        var text = "# Netscape HTTP Cookie File\n# Written by Martlet. It may hold secrets: keep it to yourself.\n\n"
        for cookie in self.cookies where includingSessionCookies || cookie.expires != nil {
            text += NetscapeCookieLine.format(cookie)
            text += "\n"
        }
        return text
    }
}

/// What is wrong with a line of a cookie file.
public struct CookieFileProblem: Hashable, Sendable, CustomStringConvertible {
    /// The line, counted from 1.
    public var line: Int
    /// What is wrong and how to mend it; never holds a cookie's value.
    public var message: String

    /// Creates a problem.
    public init(line: Int, message: String) {
        self.line = line
        self.message = message
    }

    /// The line and what is wrong with it.
    public var description: String { "line \(self.line): \(self.message)" }
}

// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

/// Options for credentials, cookies and the client's certificate of `get` and `put`.
struct AccessOptions: ParsableArguments {
    @OptionGroup var login: LoginOptions

    @Flag(.digestOnly) var digestOnly = false
    @Option(.cookieJar) var cookieJar: String?
    @Option(.cert) var cert: String?
    @Option(.key) var key: String?

    /// Validates the options and combines them.
    ///
    /// - Parameters:
    ///   - fields: The header fields of the requests.
    ///   - isTable: Whether the URLs are those of a table.
    /// - Returns: The plan.
    /// - Throws: ``BadValue`` if options cannot be used together.
    func plan(fields: [(String, String)], isTable: Bool = false) throws(BadValue) -> AccessPlan {
        var plan = AccessPlan()
        try self.login.fill(&plan, fields: fields)
        plan.usesDigestOnly = self.digestOnly
        for (name, value) in [("--cookie-jar", self.cookieJar), ("--cert", self.cert), ("--key", self.key)] {
            if value?.isEmpty == true { throw BadValue("\(name) is empty; name a file") }
        }
        guard self.cookieJar != "-" else { throw BadValue("--cookie-jar cannot write to standard output; name a file") }
        plan.cookieJar = self.cookieJar
        plan.certificate = self.cert
        plan.key = self.key
        guard self.key == nil || self.cert != nil else { throw BadValue("--key is for a certificate; add --cert FILE") }
        plan.keepsCookies = !isTable || plan.loadCookies != nil || plan.cookieJar != nil
        return plan
    }
}

// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// Options for credentials, cookies and the client's certificate of `get` and `put`.
protocol AccessOptions: LoginOptions {
    /// `--digest-only`: whether a password is never sent as text.
    var digestOnly: Bool { get }
    /// `--cookie-jar`: the path of the file that cookies are written to.
    var cookieJar: String? { get }
    /// `--cert`: the path of the client's certificate.
    var cert: String? { get }
    /// `--key`: the path of its private key.
    var key: String? { get }
}

extension AccessOptions {
    /// Validates the options and combines them.
    ///
    /// - Parameters:
    ///   - fields: The header fields of the requests.
    ///   - isTable: Whether the URLs are those of a table.
    /// - Returns: The plan.
    /// - Throws: ``SyntaxError`` if options cannot be used together.
    func accessPlan(fields: [(String, String)], isTable: Bool = false) throws(SyntaxError) -> AccessPlan {
        var plan = AccessPlan()
        try self.fillLogin(of: &plan, fields: fields)
        plan.usesDigestOnly = self.digestOnly
        for (name, value) in [("--cookie-jar", self.cookieJar), ("--cert", self.cert), ("--key", self.key)] {
            if value?.isEmpty == true { throw SyntaxError("\(name) is empty; name a file") }
        }
        guard self.cookieJar != "-" else {
            throw SyntaxError("--cookie-jar cannot write to standard output; name a file")
        }
        plan.cookieJar = self.cookieJar
        plan.certificate = self.cert
        plan.key = self.key
        guard self.key == nil || self.cert != nil else {
            throw SyntaxError("--key is for a certificate; add --cert FILE")
        }
        plan.keepsCookies = !isTable || plan.loadCookies != nil || plan.cookieJar != nil
        return plan
    }
}

// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore

/// Options for credentials, cookies and the client's certificate of `get` and `put`.
struct AccessOptions: ParsableArguments {
    @OptionGroup var login: LoginOptions

    @Flag(help: "Use passwords for Digest only, so that they are never sent themselves.")
    var digestOnly = false

    @Option(
        help: ArgumentHelp(
            "Write all cookies to a file in Netscape's form at the end, also those of the session.",
            discussion: """
                Cookies that servers set are used for the other requests of the same run, except with tables; with \
                this option or --load-cookies, also with tables. The file is readable by its owner only.
                """,
            valueName: "file"
        ),
        completion: .file()
    )
    var cookieJar: String?

    @Option(
        help: ArgumentHelp(
            "Client certificate in a PEM file, with intermediate ones, for servers that require one.",
            valueName: "file"
        ),
        completion: .file()
    )
    var cert: String?

    @Option(
        help: ArgumentHelp(
            "Private key of --cert in a PEM file; by default in the same file. A passphrase is asked for.",
            valueName: "file"
        ),
        completion: .file()
    )
    var key: String?

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

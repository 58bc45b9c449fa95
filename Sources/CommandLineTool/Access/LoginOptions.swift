// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore

/// Options for credentials and cookies that `get`, `put` and `add` share.
struct LoginOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "User name and password of the server; without a password, it is asked for on the terminal.",
            discussion: """
                Sent by Basic at once, or by Digest if the server requires that; to the host of each URL only, and not \
                to mirrors and other hosts after a redirect. A user name in a URL precedes it. Other users do not see \
                it in the list of processes.
                """,
            valueName: "name[:password]"
        )
    )
    var user: String?

    @Flag(
        help: ArgumentHelp(
            "Use the user names and passwords of ~/.netrc, or of the file that $NETRC names.",
            discussion: """
                Each is for the host that the file names, also after a redirect, but then over https only. The file \
                must be readable by its owner only.
                """
        )
    )
    var netrc = false

    @Option(
        help: ArgumentHelp("Use the user names and passwords of this netrc file.", valueName: "file"),
        completion: .file()
    )
    var netrcFile: String?

    @Option(
        help: ArgumentHelp(
            "Send the token on the first line of a file as 'Authorization: Bearer …', as --header would.",
            valueName: "file"
        ),
        completion: .file()
    )
    var bearerFile: String?

    @Option(
        help: ArgumentHelp(
            "Cookies of a file in Netscape's form, as curl, wget and browser extensions write it.",
            valueName: "file"
        ),
        completion: .file()
    )
    var loadCookies: String?

    /// The user name and the password; `nil` if none are given.
    ///
    /// - Throws: ``BadValue`` without a user name.
    func login() throws(BadValue) -> AccessPlan.Login? {
        guard let user = self.user else { return nil }
        let name = user.prefix { $0 != ":" }
        guard !name.isEmpty else { throw BadValue("--user has no user name; write --user NAME, or NAME:PASSWORD") }
        let password = user.utf8.count > name.utf8.count ? String(user.dropFirst(name.count + 1)) : nil
        guard BasicAuthentication.authorization(user: String(name), password: password ?? "") != nil else {
            throw BadValue("--user contains a control character; remove it")
        }
        return AccessPlan.Login(name: String(name), password: password)
    }

    /// The path of the netrc file, or `nil` if none is used.
    ///
    /// - Throws: ``BadValue`` if there is no home directory, or if the path is empty.
    func netrcPath() throws(BadValue) -> String? {
        if let file = self.netrcFile {
            guard !file.isEmpty else { throw BadValue("--netrc-file is empty; name a file") }
            return file
        }
        return self.netrc ? try NetrcFile.usualPath() : nil
    }

    /// Fills the parts of a plan that these options describe.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - fields: The header fields of the requests.
    /// - Throws: ``BadValue`` if options cannot be used together.
    func fill(_ plan: inout AccessPlan, fields: [(String, String)]) throws(BadValue) {
        plan.login = try self.login()
        plan.netrcPath = try self.netrcPath()
        plan.bearerFile = self.bearerFile
        plan.loadCookies = self.loadCookies
        for (name, value) in [("--bearer-file", self.bearerFile), ("--load-cookies", self.loadCookies)] {
            if value?.isEmpty == true { throw BadValue("\(name) is empty; name a file") }
        }
        let hasField = fields.contains { $0.0.lowercased() == "authorization" }
        let given = [
            (plan.login != nil, "--user"), (plan.bearerFile != nil, "--bearer-file"),
            (hasField, "--header Authorization"),
        ]
        .filter(\.0).map(\.1)
        guard given.count <= 1 else {
            throw BadValue("\(given[0]) and \(given[1]) both set the field Authorization; leave one out")
        }
    }
}

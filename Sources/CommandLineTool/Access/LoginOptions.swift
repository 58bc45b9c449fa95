// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// Options for credentials and cookies that `get`, `put` and `add` share.
///
/// A protocol, and not an option group: a group costs a million instructions at each start (decision 0046).
protocol LoginOptions {
    /// `--user`: a user name, or `NAME:PASSWORD`.
    var user: String? { get }
    /// `--netrc`: whether the usual netrc file is read.
    var netrc: Bool { get }
    /// `--netrc-file`: the path of another one.
    var netrcFile: String? { get }
    /// `--bearer-file`: the path of a file with a token.
    var bearerFile: String? { get }
    /// `--load-cookies`: the path of a file with cookies.
    var loadCookies: String? { get }
}

extension LoginOptions {
    /// The user name and the password; `nil` if none are given.
    ///
    /// - Throws: ``SyntaxError`` without a user name.
    func login() throws(SyntaxError) -> AccessPlan.Login? {
        guard let user = self.user else { return nil }
        let name = user.prefix { $0 != ":" }
        guard !name.isEmpty else { throw SyntaxError("--user has no user name; write --user NAME, or NAME:PASSWORD") }
        let password = user.utf8.count > name.utf8.count ? String(user.dropFirst(name.count + 1)) : nil
        guard BasicAuthentication.authorization(user: String(name), password: password ?? "") != nil else {
            throw SyntaxError("--user contains a control character; remove it")
        }
        return AccessPlan.Login(name: String(name), password: password)
    }

    /// The path of the netrc file, or `nil` if none is used.
    ///
    /// - Throws: ``SyntaxError`` if there is no home directory, or if the path is empty.
    func netrcPath() throws(SyntaxError) -> String? {
        if let file = self.netrcFile {
            guard !file.isEmpty else { throw SyntaxError("--netrc-file is empty; name a file") }
            return file
        }
        return self.netrc ? try NetrcFile.usualPath() : nil
    }

    /// Fills the parts of a plan that these options describe.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - fields: The header fields of the requests.
    /// - Throws: ``SyntaxError`` if options cannot be used together.
    func fillLogin(of plan: inout AccessPlan, fields: [(String, String)]) throws(SyntaxError) {
        plan.login = try self.login()
        plan.netrcPath = try self.netrcPath()
        plan.bearerFile = self.bearerFile
        plan.loadCookies = self.loadCookies
        for (name, value) in [("--bearer-file", self.bearerFile), ("--load-cookies", self.loadCookies)] {
            if value?.isEmpty == true { throw SyntaxError("\(name) is empty; name a file") }
        }
        let hasField = fields.contains { $0.0.lowercased() == "authorization" }
        let given = [
            (plan.login != nil, "--user"), (plan.bearerFile != nil, "--bearer-file"),
            (hasField, "--header Authorization"),
        ]
        .filter(\.0).map(\.1)
        guard given.count <= 1 else {
            throw SyntaxError("\(given[0]) and \(given[1]) both set the field Authorization; leave one out")
        }
    }
}

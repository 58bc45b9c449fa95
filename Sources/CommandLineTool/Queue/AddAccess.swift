// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import TransferCore

/// The credentials and cookies that `martlet add` passes to the daemon with each transfer.
///
/// The daemon reads no netrc file: the command may be run by a user who has another one, and in another directory.
struct AddAccess {
    /// Problems that do not prevent adding.
    private(set) var warnings: [String] = []

    private let login: AccessPlan.Login?
    private let netrc: Netrc?
    private let bearer: String?
    private let cookieFile: String?

    /// Reads the files of a plan, and asks for a missing password.
    ///
    /// - Throws: ``SyntaxError`` if a file cannot be used, or if a password is missing; `CancellationError` if the user
    ///   interrupted the question.
    init(_ plan: AccessPlan, ask: (String) -> PasswordPrompt.Answer? = PasswordPrompt.ask) throws {
        if let path = plan.netrcPath {
            let (netrc, problems) = try NetrcFile.read(path)
            self.netrc = netrc
            self.warnings = problems
        } else {
            self.netrc = nil
        }
        self.login = try plan.login.map { try RunAccess.complete($0, ask) }
        self.bearer = try plan.bearerFile.map { (path) throws(SyntaxError) in try PrivateText.token(path) }
        self.cookieFile = plan.loadCookies.map { PosixPath.absolute($0) }
        if let path = self.cookieFile, let problem = PosixPath.problem(reading: path) {
            throw SyntaxError("--load-cookies: \(DisplayText.clean(path)) \(problem)")
        }
    }

    /// Sets the options of a transfer.
    ///
    /// The daemon sends a password to the hosts of all URLs of a transfer, so that it gets one only if all have the same
    /// origin.
    ///
    /// - Throws: ``SyntaxError`` if a password was given for a transfer with several origins.
    func apply(to transfer: inout NewTransfer) throws(SyntaxError) {
        if let path = self.cookieFile { transfer.options[.loadCookies] = path }
        if let token = self.bearer { transfer.options[all: .header].append("Authorization: Bearer \(token)") }
        guard self.login != nil || self.netrc != nil else { return }
        let urls = transfer.urls.compactMap { try? HTTPURL($0) }
        guard let first = urls.first, !first.hasUserInfo else { return }
        let isSame = urls.allSatisfy { $0.origin == first.origin }
        if let login = self.login {
            guard isSame else {
                throw SyntaxError(
                    "--user is for one host, but the mirrors are on others; write it into the URL instead"
                )
            }
            transfer.options[.httpUser] = login.name
            transfer.options[.httpPassword] = login.password
        } else if isSame, let entry = self.netrc?.entry(for: first.host, includingDefault: true), let name = entry.login
        {
            transfer.options[.httpUser] = name
            transfer.options[.httpPassword] = entry.password
        }
    }
}

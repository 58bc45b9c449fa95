// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Files
import Platform
import TransferCore
import TransferEngine

/// The credentials and cookies of a run.
struct RunAccess {
    /// The cookies, or `nil` if those of responses are not kept.
    let cookies: CookieStore?
    /// The client's certificate, or `nil`.
    let identity: TLSOptions.ClientCertificate?
    /// Problems that do not prevent the run.
    private(set) var warnings: [String] = []

    private let authorizer: Authenticator
    private let bearer: String?
    private let jarPath: String?

    /// Reads the files of a plan, and asks for what is missing.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - ask: Asks for a password; see ``PasswordPrompt/ask(_:)``.
    /// - Throws: ``SyntaxError`` if a file cannot be used, or if a password is missing; `CancellationError` if the user
    ///   interrupted the question.
    init(_ plan: AccessPlan, ask: (String) -> PasswordPrompt.Answer? = PasswordPrompt.ask) throws {
        var warnings: [String] = []
        var sources = CredentialSources()
        sources.sendsAhead = true
        sources.usesDigestOnly = plan.usesDigestOnly
        if let path = plan.netrcPath {
            let (netrc, problems) = try NetrcFile.read(path)
            sources.netrc = netrc
            warnings += problems
        }
        if let login = plan.login {
            let login = try Self.complete(login, ask)
            sources.own = .password(user: login.name, password: login.password ?? "")
        }
        self.authorizer = Authenticator(sources) { RunningDigest.hash($0, $1) }
        self.bearer = try plan.bearerFile.map { (path) throws(SyntaxError) in try PrivateText.token(path) }
        self.identity = try Self.identity(plan, ask)
        self.cookies = plan.keepsCookies ? CookieStore() : nil
        self.jarPath = plan.cookieJar
        if let path = plan.cookieJar { try Self.checkJar(path) }
        if let path = plan.loadCookies, let cookies = self.cookies {
            warnings += try Self.load(path, into: cookies, mayBeMissing: path == plan.cookieJar)
        }
        self.warnings = warnings
    }

    /// Sets the options of the run's requests.
    func apply(to options: inout DownloadOptions) {
        options.cookies = self.cookies
        options.authorizer = self.authorizer
        if let bearer = self.bearer { options.fields.append(("Authorization", "Bearer " + bearer)) }
    }

    /// Writes the cookies, if a file is named for them.
    ///
    /// - Returns: The reason if they could not be written.
    func saveCookies() -> String? {
        guard let path = self.jarPath, let cookies = self.cookies else { return nil }
        do throws(StorageError) {
            try cookies.save(to: path, includingSessionCookies: true)
            return nil
        } catch {
            return "the cookies were not stored: \(error.message)"
        }
    }

    /// Asks for the password of a login that has none.
    static func complete(
        _ login: AccessPlan.Login,
        _ ask: (String) -> PasswordPrompt.Answer?
    ) throws -> AccessPlan.Login {
        guard login.password == nil else { return login }
        let password = try Self.secret(
            "Password of \(login.name): ",
            ask,
            "--user \(login.name) has no password, and there is no terminal to ask for it; write NAME:PASSWORD, or put "
                + "it into a file for --netrc-file"
        )
        return AccessPlan.Login(name: login.name, password: password)
    }

    private static func secret(
        _ prompt: String,
        _ ask: (String) -> PasswordPrompt.Answer?,
        _ problem: String
    ) throws -> String {
        switch ask(prompt) {
        case .line(let text): return text
        case .interrupted: throw CancellationError()
        case nil: throw SyntaxError(DisplayText.clean(problem))
        }
    }

    private static func identity(
        _ plan: AccessPlan,
        _ ask: (String) -> PasswordPrompt.Answer?
    ) throws -> TLSOptions.ClientCertificate? {
        guard let certificate = plan.certificate else { return nil }
        let key = plan.key ?? certificate
        let shown = DisplayText.clean(key)
        guard let text = try PrivateText.bytes(key, atMost: 1 << 20) else {
            throw SyntaxError("\(plan.key == nil ? "--cert" : "--key"): '\(shown)' does not exist; name a PEM file")
        }
        let lines = String(decoding: text, as: UTF8.self)
        guard lines.contains("PRIVATE KEY-----") else {
            throw SyntaxError(
                plan.key == nil
                    ? "--cert: '\(shown)' contains no private key in PEM; name its file with --key"
                    : "--key: '\(shown)' contains no private key in PEM; convert it with: openssl pkey -in KEY -out FILE"
            )
        }
        var identity = TLSOptions.ClientCertificate(chain: .file(certificate), key: .file(key))
        if lines.contains("ENCRYPTED") {
            identity.passphrase = try Self.secret(
                "Passphrase of \(key): ",
                ask,
                "the key in '\(key)' is encrypted, and there is no terminal to ask for its passphrase; decrypt it with: "
                    + "openssl pkey -in '\(key)' -out FILE"
            )
        }
        return identity
    }

    private static func checkJar(_ path: String) throws(SyntaxError) {
        var status = stat()
        let exists = stat(path, &status) == 0
        if exists, status.st_mode & S_IFMT == S_IFDIR {
            throw SyntaxError("--cookie-jar: '\(DisplayText.clean(path))' is a directory; name a file")
        }
        if exists, status.st_mode & S_IFMT != S_IFREG { return }
        let slash = path.utf8.lastIndex(of: 0x2F)
        let parent = slash.map { $0 == path.utf8.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard access(parent, W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            throw SyntaxError(
                "--cookie-jar: cannot write to '\(DisplayText.clean(parent))': \(reason); name another file"
            )
        }
    }

    private static let mostProblems = 3

    private static func load(
        _ path: String,
        into cookies: CookieStore,
        mayBeMissing: Bool
    ) throws(SyntaxError) -> [String] {
        let shown = DisplayText.clean(path)
        let problems: [CookieFileProblem]?
        do throws(StorageError) { problems = try cookies.load(from: path) } catch { throw SyntaxError(error.message) }
        guard let problems else {
            if mayBeMissing { return [] }
            throw SyntaxError("--load-cookies: '\(shown)' does not exist; check its name")
        }
        if !problems.isEmpty, cookies.isEmpty {
            throw SyntaxError(
                "--load-cookies: '\(shown)' has no cookie in Netscape's form (\(problems[0])); export it as cookies.txt"
            )
        }
        var texts = problems.prefix(self.mostProblems).map { "\(shown):\($0.line): \($0.message)" }
        let rest = problems.count - texts.count
        if rest > 0 { texts.append("\(shown): \(rest) more lines are not valid") }
        return texts
    }
}

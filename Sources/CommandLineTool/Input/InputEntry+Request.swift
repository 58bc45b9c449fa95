// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import Files
import Platform
import Synchronization
import TransferCore
import TransferEngine

extension InputEntry {
    /// Applies the entry's options, which its other members do not have, to its request.
    ///
    /// - Parameters:
    ///   - request: The request, with the options of the run.
    ///   - cookies: The cookie files that were read.
    /// - Throws: ``SyntaxError`` with the name of the option.
    func apply(to request: inout DownloadRequest, _ cookies: CookieFiles) throws(SyntaxError) {
        do throws(ControlError) {
            try self.options.apply(to: &request.options)
        } catch {
            throw SyntaxError(error.description)
        }
        func has(_ name: String) -> Bool {
            request.fields.contains { $0.0.lowercased() == name }
                || request.options.fields.contains { $0.0.lowercased() == name }
        }
        if self.options[.httpNoCache] == "true" {
            request.fields += HeaderLine.noCache(besides: request.fields + request.options.fields)
        }
        if let user = self.options[.httpUser], !user.isEmpty, !has("authorization") {
            let password = self.options[.httpPassword] ?? ""
            guard let value = BasicAuthentication.authorization(user: user, password: password) else {
                throw SyntaxError("http-user contains a colon, or one of http-user and http-passwd a control character")
            }
            request.fields.append(("Authorization", value))
        }
        if let path = self.options[.loadCookies], !path.isEmpty, !has("cookie"), let url = request.sources.first,
            let value = try cookies.field(for: url, in: path)
        {
            request.fields.append(("Cookie", value))
        }
        if self.options[.nameFrom] == "last" { request.namesByFinalURL = true }
        if self.options[.dryRun] == "true" { request.onlyExamine() }
    }
}

/// The cookie files of a run; each is read once.
final class CookieFiles: Sendable {
    private let jars = Mutex<[String: CookieJar]>([:])

    /// The value of the Cookie field for a URL, or `nil` if the file has no cookie for it.
    ///
    /// - Throws: ``SyntaxError`` if the file cannot be read.
    func field(for url: HTTPURL, in path: String) throws(SyntaxError) -> String? {
        let now = Int64(time(nil))
        if let known = self.jars.withLock({ $0[path]?.field(for: url, now: now) ?? ($0[path] == nil ? nil : "") }) {
            return known.isEmpty ? nil : known
        }
        let bytes: [UInt8]?
        do throws(StorageError) {
            bytes = try AtomicFile.read(path, atMost: 16 << 20)
        } catch {
            throw SyntaxError("the cookie file cannot be read: \(DisplayText.clean(error.message))")
        }
        guard let bytes else {
            throw SyntaxError("the cookie file '\(DisplayText.clean(path))' does not exist; check load-cookies")
        }
        var problems: [CookieFileProblem] = []
        var jar = CookieJar(netscape: bytes, now: now, problems: &problems)
        let value = jar.field(for: url, now: now)
        self.jars.withLock { $0[path] = jar }
        return value
    }
}

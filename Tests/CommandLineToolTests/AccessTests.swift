// SPDX-License-Identifier: Apache-2.0
import FileStorage
import ArgumentParser
import Control
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import CommandLineTool

@Suite("Credentials and cookies of a run") struct AccessTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    private func message(_ arguments: String...) -> String {
        do {
            _ = try GetCommand.plan(["http://h/f"] + arguments)
            return ""
        } catch {
            return (error as? SyntaxError)?.description ?? "\(error)"
        }
    }

    private func problem(_ plan: AccessPlan, _ answer: PasswordPrompt.Answer? = nil) -> String {
        do {
            _ = try RunAccess(plan) { _ in answer }
            return ""
        } catch {
            return "\(error)"
        }
    }

    private func file(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
        try self.directory.write(Array(text.utf8), to: name)
        chmod(self.directory.path(name), mode)
        return self.directory.path(name)
    }

    @Test("A user name has its password, an empty one, or none")
    func user() throws {
        #expect(try plan("http://h/", "--user", "me:a:b").access.login == .init(name: "me", password: "a:b"))
        #expect(try plan("http://h/", "--user", "me:").access.login == .init(name: "me", password: ""))
        #expect(try plan("http://h/", "--user", "me").access.login == .init(name: "me", password: nil))
        #expect(self.message("--user", ":p").contains("no user name"))
        #expect(try PutCommand.plan(["f", "http://h/", "--user", "me:p"]).run.access.login?.password == "p")
    }

    @Test("Options that exclude each other are refused before anything is read")
    func conflicts() {
        #expect(self.message("--user", "a:b", "--bearer-file", "t").contains("leave one out"))
        #expect(self.message("--user", "a:b", "-H", "authorization: x").contains("leave one out"))
        #expect(self.message("--key", "k").contains("--cert"))
        #expect(self.message("--cookie-jar", "-").contains("standard output"))
        #expect(self.message("--cookie-jar", "").contains("empty"))
    }

    @Test("A missing password is asked for; without a terminal the message names other ways")
    func password() {
        var plan = AccessPlan()
        plan.login = AccessPlan.Login(name: "me", password: nil)
        #expect(self.problem(plan, .line("secret")) == "")
        #expect(self.problem(plan).contains("--netrc-file"))
        #expect(throws: CancellationError.self) { try RunAccess(plan) { _ in .interrupted } }
    }

    @Test("A line of keys ends with Enter; keys delete characters, and Ctrl-C ends the question")
    func keys() {
        func answer(_ bytes: [UInt8]) -> PasswordPrompt.Answer {
            var rest = bytes[...]
            return PasswordPrompt.answer { rest.popFirst() }
        }
        #expect(answer(Array("pw\nrest".utf8)) == .line("pw"))
        #expect(answer(Array("aé".utf8) + [0x7F] + Array("b\r".utf8)) == .line("ab"))
        #expect(answer(Array("no".utf8) + [0x15] + Array("yes\n".utf8)) == .line("yes"))
        #expect(answer(Array("pw".utf8) + [0x03]) == .interrupted)
        #expect(answer([0x04]) == .interrupted && answer(Array("a".utf8) + [0x04]) == .line("a"))
        #expect(answer([]) == .interrupted)
    }

    @Test("A netrc file that others may read, or that does not exist, is refused")
    func netrc() throws {
        var plan = AccessPlan()
        plan.netrcPath = try self.file("netrc", "machine h login u password p", mode: 0o640)
        #expect(self.problem(plan).contains("chmod 600"))
        chmod(self.directory.path("netrc"), 0o600)
        #expect(self.problem(plan) == "")
        plan.netrcPath = self.directory.path("none")
        #expect(self.problem(plan).contains("does not exist"))
        plan.netrcPath = self.directory.path("")
        #expect(self.problem(plan) != "")
    }

    @Test("A netrc file's problems are warnings, which contain nothing of the file")
    func netrcWarnings() throws {
        var plan = AccessPlan()
        plan.netrcPath = try self.file("netrc", "machine h login u password my secret")
        let access = try RunAccess(plan)
        #expect(access.warnings.count == 1 && !access.warnings[0].contains("secret"))
        #expect(access.warnings[0].hasPrefix(self.directory.path("netrc") + ":1: "))
    }

    @Test("A token is the first line of its file")
    func token() throws {
        var plan = AccessPlan()
        plan.bearerFile = try self.file("token", "abc.def|1== \nsecond line", mode: 0o644)
        var options = DownloadOptions()
        try RunAccess(plan).apply(to: &options)
        #expect(options.fields.map(\.1) == ["Bearer abc.def|1=="])
        for text in ["", "\nabc", "two words", "a\u{1}b", "tök"] {
            plan.bearerFile = try self.file("token", text)
            #expect(self.problem(plan).contains("not a token"), "\(text)")
        }
    }

    @Test("A jar that cannot be written is found before the first request")
    func jar() throws {
        var plan = AccessPlan()
        plan.cookieJar = self.directory.path("none/jar")
        #expect(self.problem(plan).contains("--cookie-jar"))
        plan.cookieJar = self.directory.path("")
        #expect(self.problem(plan).contains("directory"))
        plan.cookieJar = self.directory.path("jar")
        plan.loadCookies = plan.cookieJar
        // The first run of a line that is used again and again.
        #expect(self.problem(plan) == "")
        plan.cookieJar = nil
        #expect(self.problem(plan).contains("does not exist"))
    }

    @Test("The cookies of a run are written at its end, those that were loaded included")
    func cookies() throws {
        var plan = AccessPlan()
        plan.loadCookies = try self.file("in", "#HttpOnly_h.example\tFALSE\t/\tFALSE\t0\ta\t1\nbad line\n")
        plan.cookieJar = self.directory.path("out")
        let access = try RunAccess(plan)
        #expect(access.warnings.count == 1)
        access.cookies?.receive(["b=2"], from: try HTTPURL("http://h.example/"))
        #expect(access.saveCookies() == nil)
        let text = String(decoding: try self.directory.read("out"), as: UTF8.self)
        #expect(text.contains("#HttpOnly_h.example\tFALSE\t/\tFALSE\t0\ta\t1") && text.contains("\tb\t2"))
        plan.loadCookies = try self.file("json", "[{\"name\": \"a\"}]")
        #expect(self.problem(plan).contains("cookies.txt"))
    }

    @Test("Tables keep no cookies unless they are asked for")
    func tables() throws {
        #expect(try plan("http://h/").access.keepsCookies)
        #expect(try !plan("--manifest", "m.csv").access.keepsCookies)
        #expect(try plan("--manifest", "m.csv", "--cookie-jar", "j").access.keepsCookies)
        var access = AccessPlan()
        access.keepsCookies = false
        #expect(try RunAccess(access).cookies == nil)
    }

    @Test("A certificate has its key in the same file or in another one, and an encrypted key its passphrase")
    func certificate() throws {
        var plan = AccessPlan()
        plan.certificate = try self.file("cert", "-----BEGIN CERTIFICATE-----\n")
        #expect(self.problem(plan).contains("--key"))
        plan.key = try self.file("key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n")
        #expect(self.problem(plan).contains("openssl pkey"))
        #expect(try RunAccess(plan) { _ in .line("x") }.identity?.passphrase == "x")
        plan.key = try self.file("key", "-----BEGIN PRIVATE KEY-----\n")
        #expect(try RunAccess(plan).identity?.key == .file(self.directory.path("key")))
        plan.key = self.directory.path("none")
        #expect(self.problem(plan).contains("--key"))
    }

    @Test("The daemon gets the credentials of a transfer's only host")
    func adding() throws {
        var plan = AccessPlan()
        plan.netrcPath = try self.file("netrc", "machine h login u password p")
        func made(_ urls: String...) throws -> TransferOptions {
            var transfer = NewTransfer(id: GID.random(), urls: urls, options: TransferOptions())
            try AddAccess(plan).apply(to: &transfer)
            return transfer.options
        }
        let options = try made("https://h/f", "https://h/g")
        #expect(options[.httpUser] == "u" && options[.httpPassword] == "p")
        #expect(try made("https://h/f", "https://m/f")[.httpUser] == nil)
        #expect(try made("https://x@h/f")[.httpUser] == nil && made("https://i/f")[.httpUser] == nil)
        plan.login = AccessPlan.Login(name: "n", password: "q")
        #expect(try made("https://h/f")[.httpPassword] == "q")
        #expect(throws: SyntaxError.self) { try made("https://h/f", "https://m/f") }
        plan = AccessPlan()
        plan.bearerFile = try self.file("token", "t")
        #expect(try made("https://h/f")[all: .header] == ["Authorization: Bearer t"])
    }
}

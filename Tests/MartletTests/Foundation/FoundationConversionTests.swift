// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletFoundation
import Testing
import TransferTesting

@Suite("Foundation's types throughout", .timeLimit(.minutes(1)))
struct FoundationConversionTests {
    @Test("Data and file URLs are sent; a sequence of Data, too")
    func uploads() async throws {
        let server = try await UploadServer.start()
        let harness = try Harness()
        let target = try #require(URL(string: server.text("/f")))
        let path = URL(fileURLWithPath: harness.path("a ü.bin"))
        try Data([1, 2, 3]).write(to: path)
        _ = try await harness.session.upload(.file(path), to: target)
        #expect(server.uploads["/f"]?.bytes == [1, 2, 3])
        _ = try await harness.session.upload(.bytes(Data([4, 5])), to: target)
        #expect(server.uploads["/f"]?.bytes == [4, 5])
        let (pieces, continuation) = AsyncStream.makeStream(of: Data.self)
        for number in 0..<3 { continuation.yield(Data([UInt8(number)])) }
        continuation.finish()
        _ = try await harness.session.upload(.stream(pieces, length: 3), to: target)
        #expect(server.uploads["/f"]?.bytes == [0, 1, 2])
        let form = UploadBody.form([.file("f", path), .bytes("g", Data("xyz".utf8), fileName: "g")])
        _ = try await harness.session.upload(form, to: target)
        let sent = try #require(server.uploads["/f"]?.bytes)
        #expect(sent.text.contains("a ü.bin") && sent.text.contains("xyz"))
        var request = try TransferRequest(target)
        request.method = "POST"
        request.bodyData = Data("body".utf8)
        _ = try await harness.session.data(from: request)
        #expect(request.body == [UInt8]("body") && request.bodyData == Data("body".utf8))
        let web = try #require(URL(string: "http://host/f"))
        #expect(await code { try await harness.session.upload(.file(web), to: target) } == .file)
    }

    @Test("A directory is given and a file moved by URL; one that names no file is refused")
    func downloads() async throws {
        let server = try await ScriptedServer.start { _ in
            .response(200, [("Last-Modified", "Tue, 01 Jul 2025 10:00:00 GMT")], text: "hello")
        }
        let harness = try Harness()
        let folder = URL(fileURLWithPath: harness.path("folder"), isDirectory: true)
        let file = try await harness.session.download(from: server.text("a.txt"), to: .directory(folder))
        #expect(file.url.path == folder.appendingPathComponent("a.txt").path)
        #expect(file.response?.lastModifiedDate == Date(timeIntervalSince1970: 1_751_364_000))
        let moved = URL(fileURLWithPath: harness.path("b c.txt"))
        try file.move(to: moved)
        #expect(try Data(contentsOf: moved) == Data("hello".utf8))
        let web = try #require(URL(string: "http://host/etc/passwd"))
        let asked = server.text("a")
        for destination in [Destination.file(web), .directory(web)] {
            #expect(await code { try harness.session.downloadTask(for: asked, to: destination) } == .badDestination)
        }
        #expect(throws: TransferError.self) { try file.move(to: web) }
        let url = try HTTPURL(#require(URL(string: "https://me:pw@host/a%20b?c=d")))
        #expect(url.user == "me" && URL(url)?.absoluteString == "https://host/a%20b?c=d")
        #expect(throws: TransferError.self) { try HTTPURL(moved) }
    }

    @Test("Cookies have dates, and are loaded and saved by URL")
    func cookies() throws {
        let harness = try Harness()
        let storage = CookieStorage()
        let page = try #require(URL(string: "https://host.test/a"))
        let expiry = Date(timeIntervalSinceNow: 1000)
        try storage.set(Cookie(name: "a", value: "1", domain: "host.test", expires: expiry))
        try storage.set(setCookie: "b=2", from: page)
        #expect(storage.cookies(for: page).map(\.name).sorted() == ["a", "b"])
        let cookie = try #require(storage.cookies.first { $0.name == "a" })
        #expect(cookie.expires == Int64(expiry.timeIntervalSince1970.rounded(.down)))
        #expect(cookie.expiryDate.map { abs($0.timeIntervalSince(expiry)) < 1 } == true)
        #expect(!cookie.isExpired(at: Date()) && cookie.isExpired(at: Date(timeIntervalSinceNow: 2000)))
        #expect(try Cookie(name: "c", value: "3", domain: "host.test", expires: .distantFuture).expiryDate != nil)
        #expect(abs(cookie.creationDate.timeIntervalSinceNow) < 1000)
        let file = URL(fileURLWithPath: harness.path("cookies.txt"))
        try storage.save(to: file)
        let other = CookieStorage()
        #expect(try other.load(from: file).isEmpty)
        #expect(other.cookies.map(\.name) == ["a"])
        #expect(other.cookies(for: file).isEmpty)
    }

    @Test("Sessions, authorities, credentials, lists and resume data take URLs and Data")
    func rest() async throws {
        let directory = try TemporaryDirectory()
        var configuration = SessionConfiguration.background(
            identifier: "test",
            stateDirectory: URL(fileURLWithPath: directory.path("state"))
        )
        configuration = .ephemeral
        configuration.directoryURL = URL(fileURLWithPath: directory.path("place"))
        configuration.daemonURL = URL(fileURLWithPath: "/usr/libexec/martletd")
        #expect(configuration.directory == directory.path("place") && configuration.directoryURL.isFileURL)
        #expect(configuration.daemonPath == "/usr/libexec/martletd" && configuration.daemonURL != nil)
        let origin = try #require(URL(string: "https://host.test/"))
        try configuration.credentials.set(.bearer("token"), for: origin)
        configuration.proxy = try .server(try #require(URL(string: "http://proxy.test:3128")))
        let pem = URL(fileURLWithPath: directory.path("ca.pem"))
        #expect(
            TLSOptions.Roots.file(pem) == .pemFile(pem.path) && TLSOptions.Roots.file(pem.path) == .pemFile(pem.path)
        )
        #expect(TLSOptions.Roots.pem(Data([1])) == .pem([1]) && TLSOptions.Roots.pem("a") == .pem([0x61]))
        #expect(
            TLSOptions.Roots.only(.file(pem)) == .pemFile(pem.path) && TLSOptions.Roots.only(.pem("a")) == .pem("a")
        )
        #expect(TLSOptions.Roots.systemAnd(.file(pem)) == .systemAnd(.file(pem.path)))
        #expect(TLSOptions.PEM.bytes(Data([1])) == .bytes([1]))
        #expect(try TLSOptions.Pin(sha256: Data(repeating: 1, count: 32)).sha256.count == 32)
        let digest = ExpectedDigest(algorithm: .md5, bytes: Data(repeating: 0, count: 16), source: "test")
        #expect(digest.bytes.count == 16)
        let list = try OfflineDownloads(
            list: URL(fileURLWithPath: directory.path("list.json")),
            directory: URL(fileURLWithPath: directory.path("files")),
            configuration: Harness.configuration(directory)
        )
        let download = try list.add(try #require(URL(string: "http://127.0.0.1:9/a%20b.bin")))
        #expect(download.fileURL.path == directory.path("files/a b.bin"))
        await list.close()
        #expect(throws: TransferError.self) { try ResumeData(Data([1, 2])) }
        #expect(throws: TransferError.self) { try UploadResumeData(Data([1, 2])) }
    }

    @Test("Every error has words for the user of a program, without those of a command")
    func words() async throws {
        let server = try await ScriptedServer.start { request in .response(Int(request.path.dropFirst()) ?? 200) }
        let harness = try Harness { $0.retries = .none }
        var seen: Set<String> = []
        for status in [401, 403, 404, 410, 418, 429, 500, 503, 507] {
            let error = try await failure { try await harness.session.data(from: server.text("\(status)")) }
            seen.insert(error.localizedDescription)
            #expect(error.localizedDescription == error.errorDescription && error.failureReason == error.message)
        }
        let refusing = try RefusingPort()
        seen.insert(try await failure { try await harness.session.data(from: refusing.text("a")) }.localizedDescription)
        let tls = try await ScriptedServer.start(tls: .localhost) { _ in .response(200) }
        let untrusted = try await failure { try await harness.session.data(from: tls.text("a")) }
        #expect(untrusted.code == .certificate && untrusted.networkFailure == .certificateUnknownAuthority)
        #expect(untrusted.localizedDescription == "The identity of the server could not be verified.")
        #expect(untrusted.recoverySuggestion?.contains("operator") == true)
        let session = harness.session
        seen.insert(try await failure { try session.dataTask(for: "ftp://a/") }.localizedDescription)
        let (existing, url) = (harness.path("there"), server.text("200"))
        try harness.directory.write([1], to: "there")
        let taken = try await failure { try await session.download(from: url, to: .file(existing)) }
        #expect(
            taken.localizedDescription == "A file with this name already exists." && taken.recoverySuggestion != nil
        )
        #expect(
            seen.count >= 7 && seen.allSatisfy { $0.hasSuffix(".") && !$0.contains("--") && !$0.contains("martlet") }
        )
    }
}

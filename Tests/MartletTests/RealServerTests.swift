// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import Testing
import TransferTesting

/// The public API against foreign servers.
///
/// Run by Scripts/check-sessions, which starts nginx, Apache and squid and says in the environment where they are.
@Suite(.enabled(if: RealServers.places != nil), .timeLimit(.minutes(2)))
struct RealServerTests {
    private let places: RealServers
    private let directory: TemporaryDirectory

    init() throws {
        self.places = try #require(RealServers.places)
        self.directory = try TemporaryDirectory()
    }

    private func session(_ change: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> TransferSession {
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = .none
        configuration.directory = self.directory.path("temporary")
        configuration.tls.roots = .pemFile(self.places.authority)
        try change(&configuration)
        return try TransferSession(configuration: configuration)
    }

    /// The bytes of a file as the servers have it.
    private func original(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: self.places.root + "/" + name))
    }

    @Test("files of every size arrive right, over HTTP and HTTPS, from nginx and Apache")
    func files() async throws {
        let session = try self.session()
        for base in [self.places.nginx, self.places.nginxTLS, self.places.apache] {
            for name in ["empty.bin", "small.bin", "large.bin"] {
                let file = try await session.download(from: base + "/" + name)
                #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == self.original(name), "\(base) \(name)")
                let data = try await session.data(from: base + "/" + name)
                #expect(try Data(data.body) == self.original(name), "\(base) \(name)")
            }
        }
    }

    @Test("a download that was cut off resumes from its resume data, and fetches little twice")
    func resume() async throws {
        let session = try self.session { $0.connectionsPerDownload = 1 }
        let path = self.directory.path("large.bin")
        let task = try session.downloadTask(for: self.places.nginx + "/slow/large.bin", to: .file(path))
        var events = task.events.makeAsyncIterator()
        task.resume()
        while let event = await events.next() {
            if case .progress(let progress) = event, progress.bytesReceived > 1_000_000 { break }
        }
        let kept = try #require(await task.cancelProducingResumeData())
        #expect(kept.bytesReceived > 1_000_000)
        let data = try ResumeData(kept.bytes)
        let again = try session.downloadTask(resuming: data)
        again.rateLimit = nil
        again.resume()
        let file = try await again.value
        #expect(file.path == path && file.response?.status == 206)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == self.original("large.bin"))
    }

    @Test("an error status carries its name and the page's first bytes")
    func missing() async throws {
        let session = try self.session()
        for base in [self.places.nginx, self.places.apache] {
            let error = await #expect(throws: TransferError.self) { try await session.data(from: base + "/missing") }
            #expect(error?.status == 404 && error?.reasonPhrase == "Not Found" && error?.code == .httpStatus)
            #expect(error?.bodyText.contains("Not Found") == true)
        }
    }

    @Test("redirects are followed with the method that RFC 9110 gives", arguments: [301, 302, 303, 307, 308])
    func redirects(_ status: Int) async throws {
        let session = try self.session()
        var request = try TransferRequest(self.places.nginx + "/redirect/\(status)")
        request.method = "POST"
        request.body = Array("hello".utf8)
        let answer = try await session.data(from: request)
        #expect(answer.text == (status < 307 ? "GET /method " : "POST /method 5"))
    }

    @Test("cookies are kept and sent back, and not to another host")
    func cookies() async throws {
        let session = try self.session()
        _ = try await session.data(from: self.places.nginx + "/set-cookie")
        #expect(try await session.data(from: self.places.nginx + "/show-cookie").text == "[a=1; b=2]")
        let other = self.places.nginx.replacingOccurrences(of: "127.0.0.1", with: "localhost")
        #expect(try await session.data(from: other + "/show-cookie").text == "[]")
        let redirected = try await session.data(from: self.places.nginx + "/set-and-redirect")
        #expect(redirected.text == "[c=3; a=1; b=2]" || redirected.text == "[a=1; b=2; c=3]", "\(redirected.text)")
    }

    @Test("a copy that is still right is not fetched again, by date and by tag")
    func conditional() async throws {
        let session = try self.session()
        let url = self.places.nginx + "/small.bin"
        let first = try await session.data(from: url).response
        let byTag = try TransferRequest(url).ifNoneMatch(try #require(first.entityTag))
        #expect(try await session.data(from: byTag).isNotModified)
        let byDate = try TransferRequest(url).ifModified(since: try #require(first.lastModified))
        let file = try await session.download(from: byDate, to: .file(self.directory.path("copy")))
        #expect(file.isNotModified && !self.directory.contains("copy"))
        #expect(try await session.data(from: TransferRequest(url).ifModified(since: 1000)).status == 200)
    }

    @Test(
        "Basic and Digest as Apache asks for them, the right password and a wrong one",
        arguments: ["basic", "digest"]
    )
    func authentication(_ scheme: String) async throws {
        let url = try HTTPURL(self.places.apache + "/\(scheme)/small.bin")
        let right = try self.session { $0.credentials.set(.password(user: "me", password: "open sesame"), for: url) }
        for _ in 0..<3 { #expect(try await right.data(from: url).body.count == 20_000) }
        let file = try await right.download(from: HTTPURL(self.places.apache + "/\(scheme)/large.bin"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == self.original("large.bin"))
        let wrong = try self.session { $0.credentials.set(.password(user: "me", password: "no"), for: url) }
        let error = await #expect(throws: TransferError.self) { try await wrong.data(from: url) }
        #expect(error?.code == .authentication && error?.status == 401)
        let none = await #expect(throws: TransferError.self) { try await self.session().data(from: url) }
        #expect(none?.status == 401)
    }

    @Test("an untrusted authority, an unpinned key and a missing client certificate are refused")
    func tls() async throws {
        let url = self.places.nginxTLS + "/small.bin"
        let untrusting = try self.session { $0.tls.roots = .system }
        #expect(
            await #expect(throws: TransferError.self) { try await untrusting.data(from: url) }?.code == .certificate
        )
        let pinned = try self.session { $0.tls.pins = [try TLSOptions.Pin(self.places.pin)] }
        #expect(try await pinned.data(from: url).status == 200)
        let otherwise = try self.session {
            $0.tls.pins = [try TLSOptions.Pin(sha256: Array(repeating: 1, count: 32))]
        }
        #expect(await #expect(throws: TransferError.self) { try await otherwise.data(from: url) }?.code == .certificate)
        let closed = self.places.nginxClient + "/small.bin"
        let error = await #expect(throws: TransferError.self) { try await self.session().data(from: closed) }
        #expect(error?.status == 400)
        let known = try self.session {
            $0.tls.clientCertificate = TLSOptions.ClientCertificate(
                chain: .file(self.places.clientCertificate),
                key: .file(self.places.clientKey)
            )
        }
        #expect(try await known.data(from: closed).status == 200)
    }

    @Test("squid, with credentials: plain requests and tunnels; without them its 407 says what is missing")
    func proxy() async throws {
        let proxied = try self.session { $0.proxy = .custom(ProxySettings(try ProxyServer(self.places.squid))) }
        for base in [self.places.nginx, self.places.nginxTLS] {
            #expect(try await Data(proxied.data(from: base + "/large.bin").body) == self.original("large.bin"))
        }
        let server = try ProxyServer(self.places.squid)
        let bare = ProxyServer(origin: server.origin)
        let refused = try self.session { $0.proxy = .custom(ProxySettings(bare)) }
        for base in [self.places.nginx, self.places.nginxTLS] {
            let error = await #expect(throws: TransferError.self) { try await refused.data(from: base + "/small.bin") }
            #expect(error?.code == .authentication)
        }
    }

    @Test("content that is sent arrives: PUT into nginx's WebDAV, then read back")
    func put() async throws {
        let session = try self.session()
        var request = try TransferRequest(self.places.nginx + "/dav/new.bin")
        request.method = "PUT"
        request.body = try Array(self.original("large.bin"))
        #expect(try await session.data(from: request).status == 201)
        #expect(
            try await Data(session.data(from: self.places.nginx + "/dav/new.bin").body) == self.original("large.bin")
        )
    }

    @Test("a queue brings a hundred items, three at a time")
    func queue() async throws {
        var configuration = TransferQueue.defaultConfiguration
        configuration.proxy = .none
        let queue = try TransferQueue(concurrentTransfers: 3, configuration: configuration)
        let counter = Counter()
        queue.addDelegate(counter, on: .queue(DispatchQueue(label: "test")))
        for number in 0..<100 { try queue.add(self.places.nginx + "/small.bin?\(number)", userInfo: number) }
        queue.start()
        queue.finishQueuing()
        await counter.finished()
        #expect(counter.numbers.sorted() == Array(0..<100))
        #expect(queue.finishedCount == 100 && queue.isFinished)
    }
}

/// Where Scripts/check-sessions says that its servers are.
struct RealServers: Sendable {
    let root: String
    let authority: String
    let pin: String
    let clientCertificate: String
    let clientKey: String
    let nginx: String
    let nginxTLS: String
    let nginxClient: String
    let apache: String
    let squid: String

    static let places: RealServers? = {
        let environment = ProcessInfo.processInfo.environment
        func value(_ name: String) -> String { environment["MARTLET_REAL_" + name] ?? "" }
        guard environment["MARTLET_REAL_ROOT"] != nil else { return nil }
        return RealServers(
            root: value("ROOT"),
            authority: value("CA"),
            pin: value("PIN"),
            clientCertificate: value("CLIENT"),
            clientKey: value("CLIENT_KEY"),
            nginx: value("NGINX"),
            nginxTLS: value("NGINX_TLS"),
            nginxClient: value("NGINX_CLIENT"),
            apache: value("APACHE"),
            squid: value("SQUID")
        )
    }()
}

/// Counts a queue's items.
///
/// Unchecked because it is used on one serial queue, and read when that has delivered the end.
private final class Counter: TransferQueueDelegate, @unchecked Sendable {
    private(set) var numbers: [Int] = []
    private let end = AsyncStream<Void>.makeStream()

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
        if data.body.count == 20_000, let number = item.userInfo as? Int { self.numbers.append(number) }
    }

    func queueDidFinish(_ queue: TransferQueue) { self.end.continuation.finish() }

    func finished() async { for await _ in self.end.stream {} }
}

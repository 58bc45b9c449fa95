// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Martlet
import MartletHTTPTypes
import Synchronization
import Testing
import TransferTesting

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Requests of swift-http-types", .timeLimit(.minutes(1)))
struct HTTPTypesSessionTests {
    private let directory: TemporaryDirectory
    private let session: TransferSession

    init() throws {
        self.directory = try TemporaryDirectory()
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = .none
        configuration.directory = self.directory.path("place")
        self.session = try TransferSession(configuration: configuration)
    }

    private func request(_ server: ScriptedServer, _ method: HTTPRequest.Method = .get) -> HTTPRequest {
        HTTPRequest(method: method, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/a?b")
    }

    @Test("A response has its status, its body, and its repeated fields in their order")
    func data() async throws {
        let fields = [("Set-Cookie", "a=1"), ("Link", "<x>"), ("Set-Cookie", "b=2; Path=/"), ("Link", "<y>")]
        let server = try await ScriptedServer.start { _ in .response(404, fields, text: "no such page") }
        let link = try #require(HTTPField.Name("Link"))
        var request = self.request(server)
        request.headerFields = [link: "<1>", .acceptLanguage: "de", link: "<2>"]
        request.headerFields[.cookie] = "c=3; d=4"
        let (body, response) = try await self.session.data(for: request)
        #expect(response.status == .notFound && String(decoding: body, as: UTF8.self) == "no such page")
        #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2; Path=/"])
        #expect(response.headerFields[values: link] == ["<x>", "<y>"])
        let names = ["set-cookie", "link"]
        let order = response.headerFields.map(\.name.canonicalName).filter(names.contains)
        #expect(order == ["set-cookie", "link", "set-cookie", "link"])
        let received = try #require(server.requests.first)
        #expect(received.target == "/a?b" && received.values("Link") == ["<1>", "<2>"])
        #expect(received.values("Cookie") == ["c=3; d=4"] && server.requests.count == 1)
    }

    @Test("A request is also one for the session's other functions, which fail with its status")
    func convertible() async throws {
        let server = try await ScriptedServer.start { _ in .response(404, text: "no such page") }
        let error = await #expect(throws: TransferError.self) {
            try await self.session.data(from: self.request(server))
        }
        #expect(error?.status == 404 && error?.bodyText == "no such page")
    }

    @Test("An upload sends bytes or a file with the request's method and type", arguments: [false, true])
    func upload(_ isFile: Bool) async throws {
        let server = try await ScriptedServer.start { _ in .response(422, text: "refused") }
        var request = self.request(server, .post)
        request.headerFields[.contentType] = "text/plain"
        let content = Data("content".utf8)
        let body: Data
        let response: HTTPResponse
        if isFile {
            let file = URL(fileURLWithPath: self.directory.path("file"))
            try content.write(to: file)
            (body, response) = try await self.session.upload(for: request, fromFile: file)
        } else {
            (body, response) = try await self.session.upload(for: request, from: content)
        }
        #expect(response.status.code == 422 && body == Data("refused".utf8))
        let received = try #require(server.requests.first)
        #expect(received.method == "POST" && received.body == Array(content))
        #expect(received.values("Content-Type") == ["text/plain"])
    }

    @Test("An upload with GET, or of a URL that is not a file URL, is an error")
    func badUpload() async throws {
        let server = try await ScriptedServer.start { _ in .response(200) }
        var error = await #expect(throws: TransferError.self) {
            try await self.session.upload(for: self.request(server), from: Data())
        }
        #expect(error?.code == .badRequest)
        let page = try #require(URL(string: "https://example.org/etc/hosts"))
        error = await #expect(throws: TransferError.self) {
            try await self.session.upload(for: self.request(server, .put), fromFile: page)
        }
        #expect(error?.code == .file && server.requests.isEmpty)
    }

    @Test("A download has the file and the response; another status is an error, and no file")
    func download() async throws {
        let server = try await ScriptedServer.start { request in
            request.requestIndex == 0
                ? .response(200, [("ETag", "\"1\"")], text: "bytes") : .response(410, text: "gone")
        }
        let path = self.directory.path("file")
        let (file, response) = try await self.session.download(for: self.request(server), to: .file(path))
        #expect(file.path == path && file.size == 5 && response.headerFields[.eTag] == "\"1\"")
        let error = await #expect(throws: TransferError.self) {
            try await self.session.download(for: self.request(server))
        }
        #expect(error?.code == .httpStatus && error?.status == 410)
    }

    @Test("A delegate lives as long as its task")
    func delegate() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "bytes") }
        let count = Counter()
        _ = try await self.session.data(for: self.request(server), delegate: ResponseCounter(count))
        #expect(count.value.withLock { $0 } == 1)
    }
}

private final class Counter: Sendable {
    let value = Mutex(0)
}

private final class ResponseCounter: TransferDelegate {
    private let count: Counter

    init(_ count: Counter) { self.count = count }

    func task(
        _ task: TransferTask,
        didReceive response: TransferResponse,
        decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    ) {
        self.count.value.withLock { $0 += 1 }
        decide(.allow)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Redirects", .timeLimit(.minutes(1)))
struct RedirectTests {
    struct Rule: Sendable {
        var status: Int
        var method: String
        var after: String
        var keepsBody: Bool
    }

    static let rules: [Rule] = [301, 302, 303, 307, 308]
        .flatMap { status -> [Rule] in
            [
                Rule(status: status, method: "GET", after: "GET", keepsBody: false),
                Rule(status: status, method: "HEAD", after: "HEAD", keepsBody: false),
                Rule(status: status, method: "POST", after: status < 304 ? "GET" : "POST", keepsBody: status > 304),
                Rule(status: status, method: "PUT", after: status == 303 ? "GET" : "PUT", keepsBody: status != 303),
            ]
        }

    @Test(
        "Method and content after a redirect are those of RFC 9110; the content's fields go with it",
        arguments: rules
    )
    func methods(_ rule: Rule) async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/from" ? .redirect(to: "/to", status: rule.status) : .response(200)
        }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let hasBody = rule.method == "POST" || rule.method == "PUT"
        var request = try TransferRequest(server.text("from"))
        request.method = rule.method
        request.headers = ["X-Own": "1"]
        if hasBody {
            request.body = [UInt8]("content")
            request.headers.append("Content-Type", "text/plain")
        }
        let response = try await harness.session.data(from: request)
        #expect(response.response.url.path == "/to")
        #expect(server.requests.map(\.method) == [rule.method, rule.after])
        #expect(server.requests[0].body.text == (hasBody ? "content" : ""))
        #expect(server.requests[1].body.text == (rule.keepsBody ? "content" : ""))
        #expect(server.requests[1]["Content-Type"] == (rule.keepsBody ? "text/plain" : nil))
        #expect(server.requests[1]["X-Own"] == "1")
        let redirect = try #require(observer.redirects.entries.first)
        #expect(redirect.method == rule.after && redirect.response.status == rule.status)
        #expect(redirect.url.path == "/to" && !redirect.isToAnotherOrigin)
        await observer.waitForEnds()
        #expect(observer.story.filter { $0 != "data" } == ["redirect", "response 200", "end"])
    }

    @Test("A download follows redirects", arguments: [301, 302, 303, 307, 308])
    func download(_ status: Int) async throws {
        let file = ServedFile(length: 100_000)
        let server = try await ScriptedServer.start { request in
            request.path == "/from" ? .redirect(to: "/to", status: status) : .file(file, request)
        }
        let harness = try Harness()
        let result = try await harness.session.download(from: server.text("from"), to: .file(harness.path("file")))
        #expect(result.response?.url.path == "/to")
        #expect(file.pattern.difference(fromFileAt: result.path, length: file.length) == nil)
    }

    @Test("A data task whose redirect is refused has the redirect's body")
    func refusedData() async throws {
        let server = try await ScriptedServer.start { _ in
            .response(302, [("Location", "/to")], text: "moved, they say")
        }
        let harness = try Harness()
        let observer = Observer { $0.redirect = { $1(.refuse) } }
        harness.session.addDelegate(observer)
        let response = try await harness.session.data(from: server.text("from"))
        #expect(response.status == 302 && response.text == "moved, they say")
        #expect(server.requests.count == 1)
        await observer.waitForEnds()
        #expect(observer.story == ["redirect", "response 302", "data", "end"])
    }

    @Test("A download whose redirect is refused fails with its status, and leaves nothing")
    func refusedDownload() async throws {
        let server = try await ScriptedServer.start { _ in .response(307, [("Location", "/to")], text: "moved") }
        let harness = try Harness()
        let observer = Observer { $0.redirect = { $1(.refuse) } }
        harness.session.addDelegate(observer)
        let error = try await failure {
            try await harness.session.download(from: server.text("from"), to: .file(harness.path("file")))
        }
        #expect(error.code == .redirect && error.status == 307 && error.reasonPhrase == "Temporary Redirect")
        #expect(error.bodyText == "moved")
        #expect(harness.directory.entries() == [])
    }

    @Test("A redirect that a delegate cancels ends the task as cancelled")
    func cancelled() async throws {
        let server = try await ScriptedServer.start { _ in .redirect(to: "/to") }
        let harness = try Harness()
        let observer = Observer { $0.redirect = { $1(.cancel) } }
        harness.session.addDelegate(observer)
        #expect(await code { try await harness.session.data(from: server.text("from")) } == .cancelled)
        #expect(await code { try await harness.session.download(from: server.text("from")) } == .cancelled)
        await observer.waitForEnds(2)
        #expect(server.requests.count == 2)
    }

    @Test("The request's own header fields, Authorization among them, do not go to another origin")
    func otherOrigin() async throws {
        let other = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let target = other.text("to")
        let server = try await ScriptedServer.start { _ in .redirect(to: target, status: 307) }
        let harness = try Harness { $0.headers = ["X-Configured": "1", "User-Agent": "test/1"] }
        let observer = Observer()
        harness.session.addDelegate(observer)
        var request = try TransferRequest(server.text("from"))
        request.headers = [
            "Authorization": "Bearer secret", "X-Own": "1", "Cookie": "own=1", "Accept-Language": "de",
            "Cache-Control": "no-cache",
        ]
        request.referer = try HTTPURL("http://page.test/")
        _ = try await harness.session.data(from: request)
        #expect(server.requests[0]["Authorization"] == "Bearer secret")
        let foreign = other.requests[0]
        #expect(foreign["Authorization"] == nil && foreign["X-Own"] == nil && foreign["Cookie"] == nil)
        #expect(foreign["User-Agent"] == "test/1" && foreign["Accept-Language"] == "de")
        // The other origin's cache is often that of the content.
        #expect(foreign["Cache-Control"] == "no-cache")
        #expect(observer.redirects.entries[0].isToAnotherOrigin)
    }

    @Test(
        "A redirect without a Location, or to what is no URL, is a failure with its status",
        arguments: ["", "ftp://x/"]
    )
    func nowhere(_ location: String) async throws {
        let server = try await ScriptedServer.start { _ in
            .response(302, location.isEmpty ? [] : [("Location", location)], text: "?")
        }
        let harness = try Harness()
        let error = try await failure { try await harness.session.data(from: server.text("from")) }
        #expect(error.status == 302)
    }

    @Test(
        "From https a redirect to http is not followed, unless the configuration allows it",
        arguments: [false, true]
    )
    func downgrade(_ isAllowed: Bool) async throws {
        let plain = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let target = plain.text("to")
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .redirect(to: target) }
        let harness = try Harness {
            $0.tls.roots = .pem([UInt8](TestCertificate.localhost.authorityPEM))
            $0.allowsDowngrade = isAllowed
        }
        let ended = await code { try await harness.session.data(from: server.text("from")) }
        #expect(ended == (isAllowed ? nil : .redirect))
        #expect(plain.requests.count == (isAllowed ? 1 : 0))
    }
}

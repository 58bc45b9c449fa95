// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Cache policies", .timeLimit(.minutes(1)))
struct CachePolicyTests {
    @Test("A fresh response is used without a request, with its age", arguments: CachePlace.allCases)
    func fresh(place: CachePlace) async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60"), ("X-A", "b")])
        let harness = try CacheHarness(place)
        let first = try await harness.data(server.text("a?q=1"))
        #expect(first.response.source == .network && first.response.age == nil)
        harness.clock.advance(59)
        let second = try await harness.data(server.text("a?q=1"))
        #expect(second.text == "0" && second.status == 200 && second.response.headers["X-A"] == "b")
        #expect(second.response.source == .cache && second.response.age == 59)
        #expect(second.response.expectedLength == 1 && second.response.url == first.response.url)
        #expect(server.requests.count == 1)
        #expect(try await harness.data(server.text("a?q=2")).response.source == .network)
    }

    @Test(
        "A stale response is validated; the caller sees the stored one with new fields",
        arguments: CachePlace.allCases
    )
    func validated(place: CachePlace) async throws {
        let server = try await ScriptedServer.start { request in
            let fields = [("Cache-Control", "max-age=60"), ("ETag", "\"v\""), ("X-Count", "\(request.targetIndex)")]
            let isCurrent = request["If-None-Match"] == "\"v\""
            return isCurrent ? .response(304, fields) : .response(200, fields, text: "body")
        }
        let harness = try CacheHarness(place)
        let url = server.text("a")
        _ = try await harness.data(url)
        harness.clock.advance(60)
        let observer = Observer()
        let task = try harness.session.dataTask(for: url)
        task.addDelegate(observer)
        task.resume()
        let second = try await task.value
        #expect(second.text == "body" && second.status == 200 && !second.isNotModified)
        #expect(second.response.source == .validated && second.response.headers["X-Count"] == "1")
        #expect(second.response.age == 0 && server.requests.count == 2)
        await observer.waitForEnds()
        #expect(observer.story == ["response 200", "data", "end"])
        // The confirmation has made the stored response fresh.
        harness.clock.advance(59)
        let third = try await harness.data(url)
        #expect(third.text == "body" && third.response.source == .cache && third.response.headers["X-Count"] == "1")
        #expect(server.requests.count == 2)
    }

    @Test("A changed response replaces the stored one", arguments: CachePlace.allCases)
    func changed(place: CachePlace) async throws {
        let server = try await ScriptedServer.start { request in
            .response(
                200,
                [("Cache-Control", "max-age=60"), ("ETag", "\"\(request.targetIndex)\"")],
                text: "\(request.targetIndex)"
            )
        }
        let harness = try CacheHarness(place)
        let url = server.text("a")
        _ = try await harness.data(url)
        harness.clock.advance(61)
        let second = try await harness.data(url)
        #expect(second.text == "1" && second.response.source == .network)
        #expect(server.requests[1]["If-None-Match"] == "\"0\"")
        #expect(try await harness.data(url).text == "1")
        #expect(server.requests.count == 2)
    }

    @Test("A confirmation of another response is not used for the stored one")
    func otherConfirmation() async throws {
        let server = try await ScriptedServer.start { request in
            switch request.targetIndex {
            case 0: .response(200, [("ETag", "\"a\"")], text: "a")
            case 1: .response(304, [("ETag", "\"b\"")])
            default: .response(200, [("ETag", "\"b\"")], text: "b")
            }
        }
        let harness = try CacheHarness()
        #expect(try await harness.data(server.text("a")).text == "a")
        #expect(try await harness.data(server.text("a")).text == "b")
        #expect(server.requests.count == 3 && server.requests[2]["If-None-Match"] == nil)
    }

    @Test("Reloading requests the resource and stores the response", arguments: CachePlace.allCases)
    func reload(place: CachePlace) async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60"), ("ETag", "\"v\"")])
        let harness = try CacheHarness(place)
        let url = server.text("a")
        _ = try await harness.data(url)
        #expect(try await harness.data(url, .reloadIgnoringCache).text == "1")
        #expect(server.requests[1]["If-None-Match"] == nil)
        let third = try await harness.data(url)
        #expect(third.text == "1" && third.response.source == .cache)
    }

    @Test("A stale response is used by the policies that ignore its age; without one, one of them fails")
    func stored() async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60, must-revalidate")])
        let harness = try CacheHarness()
        let url = server.text("a")
        let error = try await failure { try await harness.data(url, .returnCacheOnly) }
        #expect(error.code == .notCached && !error.remedy.isEmpty && !error.isRetryable && server.requests.isEmpty)
        #expect(try await harness.data(url, .returnCacheElseLoad).text == "0")
        harness.clock.advance(1000)
        await server.stop()
        for policy in [CachePolicy.returnCacheElseLoad, .returnCacheOnly] {
            let response = try await harness.data(url, policy)
            #expect(response.text == "0" && response.response.source == .cache && response.response.age == 1000)
        }
        #expect(await code { try await harness.data(url) } == .network)
    }

    @Test("Requests that a cache cannot answer fail if they may use nothing else")
    func onlyCache() async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60")])
        let harness = try CacheHarness { $0.cachePolicy = .returnCacheOnly }
        _ = try await harness.data(server.text("a"), .reloadIgnoringCache)
        #expect(try await harness.data(server.text("a")).response.source == .cache)
        var request = try TransferRequest(server.text("a"))
        #expect(await code { try await harness.session.data(from: request.ifNoneMatch("\"x\"")) } == .notCached)
        request.method = "POST"
        request.body = [1]
        #expect(await code { try await harness.session.data(from: request) } == .notCached)
        #expect(server.requests.count == 1)
    }

    @Test("A session without a cache ignores the policies, except that one allows no request")
    func without() async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60")])
        let harness = try Harness()
        for policy in [nil, .useProtocolCachePolicy, .reloadIgnoringCache, CachePolicy.returnCacheElseLoad] {
            var request = try TransferRequest(server.text("a"))
            request.cachePolicy = policy
            #expect(try await harness.session.data(from: request).response.source == .network)
        }
        var request = try TransferRequest(server.text("a"))
        request.cachePolicy = .returnCacheOnly
        let error = try await failure { try await harness.session.data(from: request) }
        #expect(error.code == .notCached && !error.remedy.isEmpty && server.requests.count == 4)
        #expect(SessionConfiguration.default.cache == nil && SessionConfiguration.ephemeral.cache == nil)
    }

    @Test("The caller's own conditional and range requests bypass the cache")
    func bypass() async throws {
        let server = try await ScriptedServer.start { request in
            if request["If-None-Match"] != nil { return .response(304, [("ETag", "\"v\"")]) }
            if request["Range"] != nil {
                return .response(206, [("Content-Range", "bytes 0-1/4"), ("ETag", "\"v\"")], text: "bo")
            }
            return .response(200, [("Cache-Control", "max-age=60"), ("ETag", "\"v\"")], text: "body")
        }
        let harness = try CacheHarness()
        let request = try TransferRequest(server.text("a"))
        _ = try await harness.session.data(from: request)
        let conditional = try await harness.session.data(from: request.ifNoneMatch("\"v\""))
        #expect(conditional.isNotModified && conditional.response.source == .network)
        let range = try await harness.data(server.text("a"), nil, ["Range": "bytes=0-1"])
        #expect(range.status == 206 && range.text == "bo")
        let whole = try await harness.session.data(from: request)
        #expect(whole.text == "body" && whole.response.source == .cache)
    }

    @Test("The request's directives count")
    func directives() async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60")])
        let harness = try CacheHarness()
        let url = server.text("a")
        _ = try await harness.data(url)
        harness.clock.advance(30)
        #expect(try await harness.data(url, nil, ["Cache-Control": "max-age=29"]).text == "1")
        harness.clock.advance(70)
        #expect(try await harness.data(url, nil, ["Cache-Control": "max-stale=10"]).response.source == .cache)
        #expect(await code { try await harness.data(url, nil, ["Cache-Control": "only-if-cached"]) } == .notCached)
        #expect(try await harness.data(url, nil, ["Pragma": "no-cache"]).text == "2")
        #expect(try await harness.data(url, nil, ["Cache-Control": "no-store"]).text == "3")
        #expect(try await harness.data(url).text == "2")
    }

    @Test("A clock that was set back makes a response stale")
    func clock() async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60")])
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        harness.clock.advance(-100)
        #expect(try await harness.data(server.text("a")).text == "1")
    }

    @Test("A stale response replaces an error if the server allowed that")
    func staleIfError() async throws {
        let server = try await ScriptedServer.start { request in
            let fields = [("Cache-Control", "max-age=10, stale-if-error=60")]
            return request.targetIndex == 1 ? .response(503) : .response(200, fields, text: "x")
        }
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        harness.clock.advance(20)
        let second = try await harness.data(server.text("a"))
        #expect(second.text == "x" && second.response.source == .cache && server.requests.count == 2)
        await server.stop()
        let third = try await harness.data(server.text("a"))
        #expect(third.text == "x" && third.response.source == .cache && third.response.age == 20)
        harness.clock.advance(60)
        #expect(await code { try await harness.data(server.text("a")) } == .network)
    }

    @Test("A background session refuses a cache")
    func background() throws {
        var configuration = SessionConfiguration.background(identifier: "test.cache")
        configuration.cache = ResponseCache(memoryLimit: 1000)
        let error = #expect(throws: TransferError.self) { try TransferSession(configuration: configuration) }
        #expect(error?.code == .badConfiguration && error?.remedy.isEmpty == false)
    }
}

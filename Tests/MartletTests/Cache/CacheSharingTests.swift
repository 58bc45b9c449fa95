// SPDX-License-Identifier: Apache-2.0
import Martlet
import Platform
import Testing
import TransferTesting

@Suite("Sharing of a cache", .timeLimit(.minutes(1)))
struct CacheSharingTests {
    @Test("A page for one user's cookies is not returned to another session", arguments: CachePlace.allCases)
    func cookies(place: CachePlace) async throws {
        let server = try await ScriptedServer.start { request in
            .response(200, [("Cache-Control", "private, max-age=60")], text: request["Cookie"] ?? "nobody")
        }
        let harness = try CacheHarness(place) { $0.cookies = CookieStorage() }
        let other = try CacheHarness.session(harness.cache, harness.directory) { $0.cookies = CookieStorage() }
        let url = try server.url("a")
        harness.session.configuration.cookies?.set(setCookie: "user=anna", from: url)
        #expect(try await harness.data(server.text("a")).text == "user=anna")
        #expect(try await harness.data(server.text("a")).response.source == .cache)
        var request = try TransferRequest(server.text("a"))
        request.cachePolicy = .returnCacheOnly
        #expect(await code { try await other.data(from: request) } == .notCached)
        #expect(try await other.data(from: server.text("a")).text == "nobody")
        other.configuration.cookies?.set(setCookie: "user=bert", from: url)
        #expect(try await other.data(from: server.text("a")).text == "user=bert")
        // One response is stored per URL.
        #expect(try await harness.data(server.text("a")).text == "user=anna" && server.requests.count == 4)
    }

    @Test(
        "A response that was received with less trust is not returned to a stricter session",
        arguments: CachePlace.allCases
    )
    func trust(place: CachePlace) async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60")])
        let lax = try CacheHarness(place) { $0.tls.verification = .noHostname }
        let strict = try CacheHarness.session(lax.cache, lax.directory)
        #expect(try await lax.data(server.text("a")).text == "0")
        #expect(try await lax.data(server.text("a")).text == "0")
        #expect(try await strict.data(from: server.text("a")).text == "1")
        #expect(try await strict.data(from: server.text("a")).response.source == .cache)
        #expect(server.requests.count == 2)
    }

    @Test("A removal while a response is validated prevents that it is stored again", arguments: CachePlace.allCases)
    func removedWhileValidated(place: CachePlace) async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { request in
            let fields = [("Cache-Control", "max-age=60"), ("ETag", "\"v\""), ("X-Count", "\(request.targetIndex)")]
            if request.targetIndex == 0 { return .response(200, fields, text: "body") }
            return Reply([.waitUntil(gate)] + Reply.response(304, fields).steps)
        }
        let harness = try CacheHarness(place)
        for name in ["a", "b"] { _ = try await harness.data(server.text(name)) }
        harness.clock.advance(100)
        var tasks: [DataTask] = []
        for name in ["a", "b"] {
            tasks.append(try harness.session.dataTask(for: server.text(name)))
            tasks.last?.resume()
        }
        await server.waitForRequests(4)
        try harness.cache.remove(for: server.text("a"))
        // The stored response is older than that, but what arrives now is not.
        harness.cache.removeAll(since: WallClock.start + 50)
        gate.open()
        for task in tasks { #expect(try await task.value.text == "body") }
        #expect(await code { try await harness.data(server.text("a"), .returnCacheOnly) } == .notCached)
        #expect(try await harness.data(server.text("b"), .returnCacheOnly).response.headers["X-Count"] == "0")
    }

    @Test("A late response to an earlier request does not replace a newer one", arguments: CachePlace.allCases)
    func overlapping(place: CachePlace) async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { request in
            let reply = Reply.response(200, [("Cache-Control", "max-age=60")], text: "\(request.targetIndex)")
            return request.targetIndex == 0 ? Reply([.waitUntil(gate)] + reply.steps) : reply
        }
        let harness = try CacheHarness(place)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        await server.waitForRequests(1)
        harness.clock.advance(1)
        #expect(try await harness.data(server.text("a"), .reloadIgnoringCache).text == "1")
        gate.open()
        #expect(try await task.value.text == "0")
        _ = harness.cache.size
        #expect(try await harness.data(server.text("a"), .returnCacheOnly).text == "1")
        // A time in the future does not keep out what is stored after the clock was set back.
        harness.clock.advance(-1000)
        #expect(try await harness.data(server.text("a"), .reloadIgnoringCache).text == "2")
        #expect(try await harness.data(server.text("a"), .returnCacheOnly).text == "2")
    }

    @Test("A 304 with the digest of its own content does not make the task fail")
    func digestOfConfirmation() async throws {
        let server = try await ScriptedServer.start { request in
            let fields = [("Cache-Control", "max-age=0"), ("ETag", "\"v\"")]
            if request.targetIndex == 0 { return .response(200, fields, text: "body") }
            // SHA-256 of nothing.
            let digest = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
            return .response(304, fields + [("Content-Digest", digest)])
        }
        let harness = try CacheHarness()
        for _ in 0..<3 { #expect(try await harness.data(server.text("a")).text == "body") }
        #expect(server.requests.count == 3)
    }

    @Test("A file of another user is a miss", .enabled(if: geteuid() == 0))
    func otherOwner() async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60")])
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let name = try #require(harness.files.first)
        #expect(chown(harness.directory.path("cache/" + name), 12345, 12345) == 0)
        #expect(try await harness.data(server.text("a")).text == "1")
        #expect(try await harness.data(server.text("a")).response.source == .cache)
    }

    @Test("A directory that others can write to is refused", arguments: [0o770, 0o707, 0o1777] as [mode_t])
    func writableByOthers(mode: mode_t) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("cache")
        #expect(mkdir(path, 0o700) == 0 && chmod(path, mode) == 0)
        let error = #expect(throws: TransferError.self) { try ResponseCache(directory: path, limit: 1000) }
        #expect(
            error?.code == .file && error?.message.contains("other users") == true && error?.remedy.isEmpty == false
        )
        #expect(chmod(path, 0o755) == 0)
        #expect(throws: Never.self) { try ResponseCache(directory: path, limit: 1000) }
    }

    @Test("A response larger than 64 MiB is not stored, whatever the limit is")
    func cap() async throws {
        let most: Int64 = 64 << 20
        let server = try await ScriptedServer.start { request in
            let size = request.path == "/most" ? most : most + 1
            let fields = [("Cache-Control", "max-age=60"), ("Content-Length", "\(size)")]
            return Reply([.head(Reply.headBytes(200, fields)), .pattern(TestPattern(seed: 1), 0..<size)])
        }
        let harness = try CacheHarness(limit: 1 << 40)
        for (path, count) in [("more", 0), ("most", 1)] {
            let task = try harness.session.dataTask(for: server.text(path), collectsBody: false)
            task.resume()
            _ = try await task.value
            #expect(harness.files.count == count, "\(path)")
        }
    }

    @Test(
        "On a full disk, a validated response stays stored, and no temporary file is left",
        .enabled(if: geteuid() == 0)
    )
    func fullDisk() async throws {
        let server = try await ScriptedServer.start { request in
            let fields = [("Cache-Control", "max-age=0"), ("ETag", "\"v\"")]
            if request.targetIndex > 0 { return .response(304, fields) }
            return .response(200, fields, body: [UInt8](repeating: 0x61, count: 150_000))
        }
        let harness = try CacheHarness()
        let path = harness.directory.path("cache")
        // Not every container may mount.
        guard MemoryFilesystem.mount(path, size: "256k") else { return }
        defer { MemoryFilesystem.unmount(path) }
        for _ in 0..<2 { #expect(try await harness.data(server.text("a")).body.count == 150_000) }
        #expect(harness.files.count == 1 && server.requests.count == 2)
        #expect(try await harness.data(server.text("a"), .returnCacheOnly).body.count == 150_000)
    }
}

// SPDX-License-Identifier: Apache-2.0
import InMemoryLogging
import Logging
import Martlet
import Platform
import Testing
import TransferTesting

@Suite("Storage of the cache", .timeLimit(.minutes(2)))
struct CacheStorageTests {
    private func mode(_ path: String) -> UInt32? {
        var status = stat()
        return lstat(path, &status) == 0 ? UInt32(status.st_mode) & 0o7777 : nil
    }

    private func server() async throws -> ScriptedServer {
        try await ScriptedServer.counting([("Cache-Control", "max-age=60"), ("ETag", "\"v\"")])
    }

    @Test("Responses survive the process, in files of their owner only")
    func survives() async throws {
        let server = try await self.server()
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let name = try #require(harness.files.first)
        #expect(self.mode(harness.directory.path("cache")) == 0o700)
        #expect(self.mode(harness.directory.path("cache/" + name)) == 0o600)
        let session = try CacheHarness.session(harness.reopened(), harness.directory)
        let second = try await session.data(from: server.text("a"))
        #expect(second.response.source == .cache && second.text == "0")
    }

    @Test("A file that is cut at any byte, or has any byte changed, is a miss and is removed")
    func damage() async throws {
        let server = try await self.server()
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let name = "cache/" + (try #require(harness.files.first))
        let whole = try harness.directory.read(name)
        var requests = 1
        for index in 0..<whole.count {
            for isCut in [true, false] {
                var bytes = isCut ? Array(whole[..<index]) : whole
                if !isCut { bytes[index] ^= 0x10 }
                try harness.directory.write(bytes, to: name)
                if index % 16 == 0 {
                    // The miss is answered by the network, and stored again.
                    #expect(try await harness.data(server.text("a")).text == "\(requests)", "\(index) \(isCut)")
                    requests += 1
                    #expect(try await harness.data(server.text("a")).response.source == .cache)
                } else {
                    let result = await code { try await harness.data(server.text("a"), .returnCacheOnly) }
                    #expect(result == .notCached && harness.files.isEmpty, "\(index) \(isCut)")
                }
            }
        }
        try harness.directory.write(whole + [0], to: name)
        #expect(await code { try await harness.data(server.text("a"), .returnCacheOnly) } == .notCached)
        try harness.directory.write(whole, to: name)
        #expect(try await harness.data(server.text("a"), .returnCacheOnly).text == "0")
    }

    @Test("A long response with one wrong byte, or without its last one, is a miss as a whole")
    func longDamage() async throws {
        let pattern = TestPattern(seed: 2)
        let server = try await ScriptedServer.start { _ in
            let fields = [("Cache-Control", "max-age=60"), ("Content-Length", "2000000")]
            return Reply([.head(Reply.headBytes(200, fields)), .pattern(pattern, 0..<2_000_000)])
        }
        let harness = try CacheHarness()
        let expected = pattern.bytes(0..<2_000_000)
        _ = try await harness.data(server.text("a"))
        let name = "cache/" + (try #require(harness.files.first))
        let whole = try harness.directory.read(name)
        for index in [whole.count - 1, whole.count - 1_000_000] {
            for isCut in [true, false] {
                var bytes = isCut ? Array(whole[..<index]) : whole
                if !isCut { bytes[index] ^= 1 }
                // The response of the last round may still be being written.
                _ = harness.files
                try harness.directory.write(bytes, to: name)
                let observer = Observer()
                let task = try harness.session.dataTask(for: server.text("a"))
                task.addDelegate(observer)
                task.resume()
                #expect(try await task.value.body == expected)
                await observer.waitForEnds()
                #expect(task.response?.source == .network && observer.bytes == expected)
            }
        }
        #expect(server.requests.count == 5)
        #expect(try await harness.data(server.text("a")).response.source == .cache)
    }

    @Test("A response that is stored under the name of another is not used for it")
    func renamed() async throws {
        let server = try await self.server()
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let first = "cache/" + (try #require(harness.files.first))
        let bytes = try harness.directory.read(first)
        _ = try await harness.data(server.text("b"))
        for name in harness.files { try harness.directory.write(bytes, to: "cache/" + name) }
        #expect(await code { try await harness.data(server.text("b"), .returnCacheOnly) } == .notCached)
        #expect(try await harness.data(server.text("a"), .returnCacheOnly).text == "0")
    }

    @Test("What a killed process leaves is removed after an hour; other files are never touched")
    func leftovers() async throws {
        let server = try await self.server()
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        try harness.directory.write([1], to: "cache/.martlet-cache-abcdefgh", modified: 1_000_000)
        try harness.directory.write([1], to: "cache/.martlet-cache-stillnew")
        // The temporary file of a download.
        try harness.directory.write([1], to: "cache/.martlet-abcdefgh", modified: 1_000_000)
        try harness.directory.write([1], to: "cache/notes.txt", modified: 1_000_000)
        harness.cache.removeAll()
        #expect(harness.files.sorted() == [".martlet-abcdefgh", ".martlet-cache-stillnew", "notes.txt"])
    }

    @Test("The least recently used responses are removed above the limit", arguments: CachePlace.allCases)
    func eviction(place: CachePlace) async throws {
        let body = [UInt8](repeating: 0x61, count: 4000)
        let server = try await ScriptedServer.start { _ in .response(200, [("Cache-Control", "max-age=60")], body: body)
        }
        let harness = try CacheHarness(place, limit: 100_000)
        for number in 0..<40 {
            _ = try await harness.data(server.text("\(number)"))
            // The first one is always used.
            _ = try await harness.data(server.text("0"), .returnCacheOnly)
            #expect(harness.cache.size <= 100_000)
        }
        #expect(harness.cache.size > 50_000)
        #expect(await code { try await harness.data(server.text("1"), .returnCacheOnly) } == .notCached)
        #expect(try await harness.data(server.text("39"), .returnCacheOnly).body == body)
        harness.cache.limit = 10_000
        #expect(harness.cache.size <= 10_000 && harness.cache.limit == 10_000)
        harness.cache.limit = 0
        #expect(harness.cache.size == 0)
    }

    @Test(
        "A response larger than a twentieth of the limit is not stored, and removes the smaller one",
        arguments: CachePlace.allCases
    )
    func tooLarge(place: CachePlace) async throws {
        let server = try await ScriptedServer.start { request in
            let fields = [("Cache-Control", "max-age=60")]
            let body = [UInt8](repeating: 0x61, count: request.targetIndex == 0 ? 1000 : 1001)
            if request.path == "/length" { return .response(200, fields, body: body) }
            var bytes = Reply.headBytes(200, fields + [("Transfer-Encoding", "chunked")])
            bytes += Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8)
            return Reply([.head(bytes)])
        }
        let harness = try CacheHarness(place, limit: 20_000)
        for path in ["length", "chunked"] {
            let url = server.text(path)
            #expect(try await harness.data(url).body.count == 1000)
            #expect(try await harness.data(url).response.source == .cache)
            #expect(try await harness.data(url, .reloadIgnoringCache).body.count == 1001)
            #expect(await code { try await harness.data(url, .returnCacheOnly) } == .notCached, "\(path)")
        }
    }

    @Test("Responses are removed by request, by time, or all", arguments: CachePlace.allCases)
    func removal(place: CachePlace) async throws {
        let server = try await self.server()
        let harness = try CacheHarness(place)
        for name in ["a", "b", "c"] {
            _ = try await harness.data(server.text(name))
            harness.clock.advance(10)
        }
        func stored() async -> [String] {
            var names: [String] = []
            for name in ["a", "b", "c"] {
                let result = await code { try await harness.data(server.text(name), .returnCacheOnly) }
                if result == nil { names.append(name) }
            }
            return names
        }
        harness.cache.removeAll(since: WallClock.start + 20)
        #expect(await stored() == ["a", "b"])
        try harness.cache.remove(for: server.text("a"))
        #expect(await stored() == ["b"])
        harness.cache.removeAll()
        #expect(await stored() == [] && harness.cache.size == 0)
    }

    @Test("A response that is removed while it is received is not stored", arguments: CachePlace.allCases)
    func removedMeanwhile(place: CachePlace) async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { request in
            guard request.method == "GET" else { return .response(200) }
            if request.path == "/late" {
                return Reply(
                    [.waitUntil(gate)] + Reply.response(200, [("Cache-Control", "max-age=60")], text: "ab").steps
                )
            }
            return Reply([
                .head(Reply.headBytes(200, [("Cache-Control", "max-age=60"), ("Content-Length", "2")])),
                .bytes([0x61]), .waitUntil(gate), .bytes([0x62]),
            ])
        }
        let harness = try CacheHarness(place)
        var tasks: [DataTask] = []
        for name in ["a", "b"] {
            let observer = Observer()
            let task = try harness.session.dataTask(for: server.text(name))
            task.addDelegate(observer)
            task.resume()
            await observer.log.wait(for: "data")
            tasks.append(task)
        }
        // The server has read this request, and its response may be older than the removal.
        let late = try harness.session.dataTask(for: server.text("late"))
        late.resume()
        tasks.append(late)
        await server.waitForRequests(3)
        for path in ["a", "late"] {
            var request = try TransferRequest(server.text(path))
            request.method = "DELETE"
            _ = try await harness.session.data(from: request)
        }
        try harness.cache.remove(for: server.text("b"))
        gate.open()
        for task in tasks { #expect(try await task.value.text == "ab") }
        #expect(harness.cache.size == 0)
    }

    @Test("If the disk fails, requests succeed with one warning; a new directory is used")
    func unwritable() async throws {
        let server = try await self.server()
        let handler = InMemoryLogHandler()
        let harness = try CacheHarness { $0.logger = Logger(label: "test") { _ in handler } }
        let path = harness.directory.path("cache")
        #expect(rmdir(path) == 0)
        try harness.directory.write([], to: "cache")
        for _ in 0..<3 { #expect(try await harness.data(server.text("a")).response.source == .network) }
        _ = harness.cache.size
        #expect(handler.entries.count { $0.level == .warning } == 1)
        #expect(unlink(path) == 0)
        _ = try await harness.data(server.text("a"))
        #expect(try await harness.data(server.text("a")).response.source == .cache)
        #expect(self.mode(path) == 0o700)
    }

    @Test("A directory that cannot be used is refused")
    func refused() throws {
        let directory = try TemporaryDirectory()
        try directory.write([], to: "file")
        for name in ["file", "missing/cache"] {
            let error = #expect(throws: TransferError.self) {
                try ResponseCache(directory: directory.path(name), limit: 1000)
            }
            #expect(error?.code == .file && error?.remedy.isEmpty == false)
        }
    }

    @Test("Caches that share a directory never return a wrong or partial body")
    func shared() async throws {
        // A body repeats its number; every response is stale at once, so that all of them are written.
        let server = try await ScriptedServer.start { request in
            let byte = UInt8(request.requestIndex % 251)
            let body = [UInt8](repeating: byte, count: 20_000 + Int(byte))
            return .response(200, [("Cache-Control", "max-age=0"), ("X-Byte", "\(byte)")], body: body)
        }
        let harness = try CacheHarness(limit: 2 << 20)
        let other = try CacheHarness.session(harness.reopened(limit: 2 << 20), harness.directory)
        let served = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<8 {
                let session = index % 2 == 0 ? harness.session : other
                group.addTask {
                    var count = 0
                    for round in 0..<40 {
                        var request = try TransferRequest(server.text("\((index / 2 + round) % 3)"))
                        request.cachePolicy = round % 2 == 0 ? .reloadIgnoringCache : .returnCacheElseLoad
                        let response = try await session.data(from: request)
                        let byte = UInt8(response.response.headers["X-Byte"] ?? "") ?? 255
                        #expect(response.body == [UInt8](repeating: byte, count: 20_000 + Int(byte)))
                        if response.response.source == .cache { count += 1 }
                        if round == 20 { harness.cache.removeAll() }
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(served > 0)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Delivery from the cache", .timeLimit(.minutes(1)))
struct CacheDeliveryTests {
    /// No body, a small one, one in several pieces, and one that is read from the disk in blocks.
    static let sizes: [Int64] = [0, 5, 300_000, 3_000_000]

    private func server(_ size: Int64) async throws -> ScriptedServer {
        try await ScriptedServer.start { request in
            let head = [("Cache-Control", "max-age=60"), ("Content-Length", "\(size)")]
            return Reply([
                .head(Reply.headBytes(200, head)), .pattern(TestPattern(seed: 1), 0..<size),
            ])
        }
    }

    private static func names(_ sequence: TaskEvents) async -> [String] {
        var names: [String] = []
        for await event in sequence {
            switch event {
            case .response: names.append("response")
            case .data: if names.last != "data" { names.append("data") }
            case .finished: names.append("finished")
            case .progress: break
            default: names.append("other")
            }
        }
        return names
    }

    @Test("Every style of delivery gets the same calls and bytes as from the network", arguments: Self.sizes)
    func styles(size: Int64) async throws {
        for place in CachePlace.allCases {
            let server = try await self.server(size)
            let harness = try CacheHarness(place, limit: 200 << 20)
            let url = server.text("a")
            let expected = TestPattern(seed: 1).bytes(0..<size)
            var stories: [[String]] = []
            var events: [[String]] = []
            for round in 0..<2 {
                // Delegates, and the events as a sequence.
                let observer = Observer()
                let task = try harness.session.dataTask(for: url)
                task.addDelegate(observer)
                let sequence = task.events
                async let names = Self.names(sequence)
                task.resume()
                #expect(try await task.value.body == expected)
                #expect(task.response?.source == (round == 0 ? .network : .cache))
                await observer.waitForEnds()
                #expect(observer.bytes == expected)
                stories.append(
                    observer.log.entries.reduce(into: []) { story, name in
                        if name != "progress", story.last != name { story.append(name) }
                    }
                )
                events.append(await names)
            }
            #expect(stories[0] == stories[1] && events[0] == events[1], "\(stories) \(events)")
            // Blocking, completion handler, without collecting.
            let session = harness.session
            #expect(try await onThread { try session.dataBlocking(from: url) }.body == expected)
            let response = try await withCheckedThrowingContinuation { continuation in
                do { try session.data(from: url) { continuation.resume(with: $0) } } catch {
                    continuation.resume(throwing: error)
                }
            }
            #expect(response.body == expected && response.response.source == .cache)
            let task = try session.dataTask(for: url, collectsBody: false)
            let observer = Observer()
            task.addDelegate(observer)
            task.resume()
            #expect(try await task.value.body.isEmpty)
            await observer.waitForEnds()
            #expect(observer.bytes == expected && server.requests.count == 1)
        }
    }

    @Test("A slow recipient pauses the delivery of a stored body, and gets all of it")
    func slow() async throws {
        let server = try await self.server(3_000_000)
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let observer = Observer()
        let task = try harness.session.dataTask(for: server.text("a"), collectsBody: false)
        task.addDelegate(observer)
        let events = task.events
        task.resume()
        var count = 0
        for await event in events {
            // The delivery pauses here: more than 1 MiB may not wait.
            await observer.log.wait(for: 1)
            if case .data(let bytes) = event { count += bytes.count }
        }
        await observer.waitForEnds()
        #expect(count == 3_000_000 && observer.bytes.count == 3_000_000)
        #expect(task.response?.source == .cache)
    }

    @Test("A task that is suspended while it is served, then resumed, gets each byte once")
    func suspended() async throws {
        let server = try await self.server(3_000_000)
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let calls = Log<Int>()
        let observer = Observer { script in
            script.data = { task, _ in
                calls.add(1)
                if calls.entries.count > 1 { return }
                task.suspend()
                task.resume()
            }
        }
        let task = try harness.session.dataTask(for: server.text("a"))
        task.addDelegate(observer)
        task.resume()
        #expect(try await task.value.body == TestPattern(seed: 1).bytes(0..<3_000_000))
    }

    @Test("A cancelled delivery ends once, and the response stays stored")
    func cancelled() async throws {
        let server = try await self.server(3_000_000)
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let observer = Observer { script in script.data = { task, _ in task.cancel() } }
        let task = try harness.session.dataTask(for: server.text("a"))
        task.addDelegate(observer)
        task.resume()
        #expect(await code { try await task.value } == .cancelled)
        #expect(try await harness.data(server.text("a")).response.source == .cache)
    }

    @Test("A data task that becomes a download is served as well; a download is not")
    func download() async throws {
        let server = try await self.server(300_000)
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let path = harness.directory.path("file")
        let observer = Observer { script in script.response = { $1(.becomeDownload(to: .file(path))) } }
        let task = try harness.session.dataTask(for: server.text("a"))
        task.addDelegate(observer)
        task.resume()
        await observer.waitForEnds()
        #expect(try harness.directory.read("file") == TestPattern(seed: 1).bytes(0..<300_000))
        #expect(server.requests.count == 1)
        let file = try await harness.session.download(from: server.text("a"))
        #expect(file.response?.source == .network && server.requests.count == 2)
    }

    @Test("A stored redirect is followed without a request, and delegates decide about it")
    func redirect() async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/old"
                ? .response(301, [("Location", "/new"), ("Cache-Control", "max-age=60")])
                : .response(200, [("Cache-Control", "max-age=60")], text: "new")
        }
        let harness = try CacheHarness()
        for _ in 0..<2 {
            let observer = Observer()
            let task = try harness.session.dataTask(for: server.text("old"))
            task.addDelegate(observer)
            task.resume()
            #expect(try await task.value.text == "new")
            await observer.waitForEnds()
            #expect(observer.story == ["redirect", "response 200", "data", "end"])
        }
        #expect(server.requests.count == 2)
    }

    @Test("A stored failure fails like the first one, with its body")
    func failureStatus() async throws {
        let server = try await ScriptedServer.counting([("Cache-Control", "max-age=60")], 404)
        let harness = try CacheHarness()
        for _ in 0..<2 {
            let error = try await failure { try await harness.data(server.text("a")) }
            #expect(error.code == .httpStatus && error.status == 404 && error.bodyText == "0")
        }
        #expect(server.requests.count == 1)
    }

    @Test("HEAD is answered by the stored response to GET")
    func head() async throws {
        let server = try await self.server(5)
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        var request = try TransferRequest(server.text("a"))
        request.method = "HEAD"
        let response = try await harness.session.data(from: request)
        #expect(response.body.isEmpty && response.response.expectedLength == 5 && response.response.source == .cache)
        #expect(server.requests.count == 1)
    }

    @Test("The items of a queue are served")
    func queue() async throws {
        let server = try await self.server(5)
        let cache = ResponseCache(memoryLimit: 1 << 20)
        let observer = QueueObserver()
        for _ in 0..<2 {
            let queue = try QueueTests.queue { $0.cache = cache }
            queue.addDelegate(observer)
            try queue.add(server.text("a"))
            queue.start()
            queue.finishQueuing()
            try await queue.waitUntilFinished()
        }
        await observer.log.wait { $0.count { $0.contains("finish 5") } == 2 }
        #expect(server.requests.count == 1)
    }
    @Test("A replaced transport has a cache as well")
    func scripted() async throws {
        let network = ScriptedResponses { _ in .response(200, ["Cache-Control": "max-age=60"], text: "x") }
        let harness = try CacheHarness { $0.transport = network.transport }
        #expect(try await harness.data("http://a.test/").response.source == .network)
        #expect(try await harness.data("http://a.test/").response.source == .cache)
        #expect(network.requests.count == 1)
    }
}

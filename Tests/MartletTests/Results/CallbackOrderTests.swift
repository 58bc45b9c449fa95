// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Order of callbacks", .timeLimit(.minutes(1)))
struct CallbackOrderTests {
    private static let body = TestPattern().bytes(0..<500_000)

    private func server() async throws -> ScriptedServer {
        let file = ServedFile(length: 500_000)
        return try await ScriptedServer.start { request in
            request.path == "/missing" ? .response(404, text: "no such page\n") : .file(file, request)
        }
    }

    @Test("A data task delivers its response, then its data in order, then one end")
    func data() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        #expect(try await task.value.body == Self.body)
        await observer.waitForEnds()
        #expect(observer.story.filter { $0 != "progress" && $0 != "data" } == ["response 200", "end"])
        #expect(observer.story.first == "response 200" && observer.story.last == "end")
        #expect(observer.bytes == Self.body)
    }

    @Test("No progress is delivered before the response, however late it arrives")
    func lateResponse() async throws {
        let server = try await ScriptedServer.start { _ in
            Reply([.delay(.milliseconds(700))] + Reply.response(200, text: "x").steps)
        }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        _ = try await harness.session.data(from: server.text("a"))
        await observer.waitForEnds()
        #expect(observer.story == ["response 200", "data", "end"])
    }

    @Test("A download delivers its response, then progress up to its size, then one end")
    func download() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let task = try harness.session.downloadTask(for: server.text("a"), to: .file(harness.path("file")))
        task.resume()
        _ = try await task.value
        await observer.waitForEnds()
        #expect(observer.story == ["response 200", "progress", "end"])
        #expect(observer.progress.entries.last?.bytesReceived == 500_000)
    }

    @Test("An empty body has a response and an end")
    func empty() async throws {
        let server = try await ScriptedServer.start { _ in .response(204) }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let data = try await harness.session.data(from: server.text("a"))
        #expect(data.status == 204 && data.body.isEmpty)
        await observer.waitForEnds()
        #expect(observer.story == ["response 204", "end"])
    }

    @Test("A failure with a status delivers the response, then one end")
    func status() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let error = try await failure { try await harness.session.data(from: server.text("missing")) }
        #expect(error.code == .httpStatus && error.status == 404 && error.reasonPhrase == "Not Found")
        #expect(error.bodyText == "no such page\n")
        #expect(error.response?.headers["Content-Length"] == "13")
        await observer.waitForEnds()
        #expect(observer.story == ["response 404", "failed httpStatus"])
    }

    @Test("A failure before any response has an end alone")
    func refused() async throws {
        let port = try RefusingPort()
        let harness = try Harness { $0.retries = .none }
        let observer = Observer()
        harness.session.addDelegate(observer)
        let error = try await failure { try await harness.session.download(from: port.text("a")) }
        #expect(error.code == .network && error.status == nil && error.isRetryable)
        await observer.waitForEnds()
        #expect(observer.story == ["failed network"])
    }

    @Test("A truncated body delivers a response, the received data, and one failure")
    func brokenOff() async throws {
        var file = ServedFile(length: 500_000)
        file.interruption = .closeAfter(100_000)
        let server = try await ScriptedServer.start { [file] in .file(file, $0) }
        let harness = try Harness { $0.retries = .none }
        let observer = Observer()
        harness.session.addDelegate(observer)
        #expect(await code { try await harness.session.data(from: server.text("a")) } == .network)
        await observer.waitForEnds()
        #expect(observer.story.first == "response 200" && observer.story.last == "failed network")
        #expect(observer.bytes == Array(Self.body[..<100_000]))
    }

    @Test("A sequence has the response, then data or progress, then one end, and then nothing")
    func sequence() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a"))
        let events = task.events
        task.resume()
        var (story, body) = ([String](), [UInt8]())
        for await event in events {
            switch event {
            case .response(let response): story.append("response \(response.status)")
            case .data(let bytes): body += bytes
            case .progress, .sent, .resumed, .waiting: break
            case .finished(.data(let response)): story.append("finished \(response.body.count)")
            case .finished(.file), .failed: story.append("wrong")
            }
        }
        #expect(story == ["response 200", "finished 500000"] && body == Self.body)
    }

    @Test("A sequence of a task that has ended has its end alone")
    func lateSequence() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("missing"))
        task.resume()
        _ = try? await task.value
        var ends = 0
        for await event in task.events {
            if case .failed(let error) = event, error.status == 404 { ends += 1 } else { ends += 100 }
        }
        #expect(ends == 1)
    }

    @Test("Dropping a sequence ends it, and the transfer continues")
    func droppedSequence() async throws {
        let file = ServedFile(length: 8 << 20)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a"))
        do {
            var iterator = task.events.makeAsyncIterator()
            task.resume()
            guard case .response = await iterator.next() else {
                Issue.record("the first event is the response")
                return
            }
        }
        #expect(try await task.value.body.count == 8 << 20)
    }

    @Test("Waiting for an event ends with the Swift task that waits")
    func cancelledSequence() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a"))
        let events = task.events
        task.resume()
        await server.waitForRequests(1)
        let waiter = Task {
            var iterator = events.makeAsyncIterator()
            return await iterator.next() == nil
        }
        waiter.cancel()
        #expect(await waiter.value)
        #expect(task.state == .running)
        task.cancel()
    }

    @Test("A handler is called once with the end, one that comes late too, and each of several")
    func handlers() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let calls = Log<String>()
        let task = try harness.session.dataTask(for: server.text("a"))
        task.onCompletion { calls.add("first \((try? $0.get().body.count) ?? -1)") }
        task.onCompletion { calls.add("second \((try? $0.get().body.count) ?? -1)") }
        task.resume()
        await calls.wait(for: 2)
        task.onCompletion { calls.add("late \((try? $0.get().body.count) ?? -1)") }
        await calls.wait(for: 3)
        #expect(calls.entries == ["first 500000", "second 500000", "late 500000"])
    }

    @Test("All four ways together on one data task deliver the same", arguments: [false, true])
    func together(_ fails: Bool) async throws {
        let server = try await self.server()
        let harness = try Harness()
        let (shared, own) = (Observer(), Observer())
        harness.session.addDelegate(shared)
        let task = try harness.session.dataTask(for: server.text(fails ? "missing" : "a"))
        task.addDelegate(own)
        let handled = Log<String>()
        task.onCompletion { handled.add((try? $0.get()).map { "\($0.body.count)" } ?? "failed") }
        let events = task.events
        let story = Task {
            var story: [String] = []
            for await event in events {
                switch event {
                case .response(let response): story.append("response \(response.status)")
                case .data, .progress, .sent, .resumed, .waiting: break
                case .finished: story.append("end")
                case .failed(let error): story.append("failed \(error.code)")
                }
            }
            return story
        }
        task.resume()
        let expected = fails ? ["response 404", "failed httpStatus"] : ["response 200", "end"]
        let value = try? await task.value
        #expect(value?.body.count == (fails ? nil : 500_000))
        await handled.wait(for: 1)
        await shared.waitForEnds()
        await own.waitForEnds()
        #expect(await story.value == expected)
        for observer in [shared, own] {
            #expect(observer.story.filter { $0 != "data" && $0 != "progress" } == expected)
            #expect(observer.bytes == (fails ? [] : Self.body))
        }
        #expect(handled.entries == [fails ? "failed" : "500000"])
    }

    @Test("All four ways together on one download have the same file, which is deleted when the last one releases it")
    func togetherDownload() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let sizes = Log<String>()
        let observer = Observer { script in
            script.downloadEnd = { _, result in
                sizes.add("delegate \((try? result.get()).map { Files.exists($0.path) } ?? false)")
            }
        }
        harness.session.addDelegate(observer)
        let task = try harness.session.downloadTask(for: server.text("a"))
        task.onCompletion { sizes.add("handler \((try? $0.get()).map { Files.exists($0.path) } ?? false)") }
        let events = task.events
        let sequence = Task {
            for await event in events {
                if case .finished(.file(let file)) = event {
                    return withExtendedLifetime(file) { Files.exists(file.path) }
                }
            }
            return false
        }
        let value = Task {
            let file = try await task.value
            return withExtendedLifetime(file) { Files.exists(file.path) }
        }
        await Task.yield()
        task.resume()
        let isThere = try? await value.value
        #expect(isThere != false)
        #expect(await sequence.value)
        await sizes.wait(for: 2)
        #expect(sizes.entries.sorted() == ["delegate true", "handler true"])
    }
}

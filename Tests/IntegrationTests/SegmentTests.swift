// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// One file over several connections, and from several servers.
@Suite(.timeLimit(.minutes(5)))
struct SegmentTests {
    private static let length: Int64 = 8 << 20

    @Test("several connections fetch one file, each byte once")
    func several() async throws {
        let harness = try Harness()
        var file = ServedFile(length: Self.length)
        file.rate = 4_000_000
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.connections = .fixed(4) }
        harness.expectWhole(outcome, file)
        #expect(server.connectionCount >= 4)
        // Bytes stolen from a running connection may already be on their way.
        #expect(Double(server.bodyBytesSent) <= Double(Self.length) * 1.25)
        await server.stop()
    }

    @Test("a server without ranges gets one connection")
    func noRanges() async throws {
        let harness = try Harness()
        var file = ServedFile(length: Self.length)
        file.supportsRanges = false
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.connections = .fixed(4) }
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("pieces of connections that break are taken over", arguments: 1...4 as ClosedRange<UInt64>)
    func broken(_ seed: UInt64) async throws {
        let harness = try Harness()
        var generator = SeededGenerator(seed: seed)
        let cuts = (0..<8).map { _ in Int64.random(in: 1...1_500_000, using: &generator) }
        let file = ServedFile(TestPattern(seed: seed), length: Self.length)
        let server = try await ScriptedServer.start { request in
            var file = file
            file.rate = 8_000_000
            if request.requestIndex < cuts.count {
                let cut = cuts[request.requestIndex]
                file.interruption = request.requestIndex % 2 == 0 ? .closeAfter(cut) : .resetAfter(cut)
            }
            return .file(file, request)
        }
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.options.connections = .fixed(4)
            $0.options.retries = 8
        }
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("interrupted segments are resumed, over any number of connections", arguments: [1, 4])
    func resumed(_ connections: Int) async throws {
        let harness = try Harness()
        let file = ServedFile(length: Self.length)
        var cut = file
        // Four connections bring a part of it, and then nothing until the time is up.
        cut.interruption = .stallAfter(300_000)
        let served = Served(cut)
        let server = try await serve(served)
        let first = try await harness.fetch(server.text("file.bin")) {
            $0.options.connections = .fixed(4)
            $0.options.totalTimeout = .seconds(6)
        }
        #expect(first.failure?.code == .timeout, "\(first.story)")
        let kept = server.bodyBytesSent
        served.change { $0 = file }
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.options.connections = .fixed(connections)
        }
        harness.expectWhole(outcome, file)
        #expect(kept > 700_000)
        #expect(Double(server.bodyBytesSent) <= Double(Self.length) * 1.25)
        await server.stop()
    }

    @Test("a file that changes between segments is of one version: connections with another are given up")
    func changing() async throws {
        let harness = try Harness()
        var file = ServedFile(length: Self.length)
        file.rate = 8_000_000
        file.change = .after(2, TestPattern(seed: 2), length: Self.length, entityTag: "\"v2\"")
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.connections = .fixed(4) }
        #expect(outcome.completion != nil, "\(outcome.story)")
        // Which one depends on the order in which the connections get their responses.
        let differences = [TestPattern(), TestPattern(seed: 2)]
            .compactMap { pattern in
                pattern.difference(fromFileAt: harness.directory.path("file.bin"), length: Self.length)
            }
        #expect(differences.count == 1, "\(outcome.story)")
        await server.stop()
    }

    @Test("mirrors are used together")
    func mirrors() async throws {
        let harness = try Harness()
        var file = ServedFile(length: Self.length)
        // The first one alone would take eight seconds: time for the second to show that it has the same.
        file.rate = 1_000_000
        let first = try await serve(Served(file))
        let second = try await serve(Served(file))
        let outcome = try await harness.fetch(first.text("file.bin"), second.text("file.bin")) {
            $0.options.connections = .fixed(4)
        }
        harness.expectWhole(outcome, file)
        #expect(first.bodyBytesSent > 0)
        #expect(second.bodyBytesSent > 0)
        await first.stop()
        await second.stop()
    }

    @Test("a bad mirror is dropped", arguments: ["missing", "other length", "other content", "dead"])
    func badMirror(_ fault: String) async throws {
        let harness = try Harness()
        var slow = ServedFile(length: Self.length)
        slow.rate = 4_000_000
        let file = slow
        let good = try await serve(Served(file))
        let bad = try await ScriptedServer.start { request in
            switch fault {
            case "missing": return .response(404)
            case "dead": return Reply([.reset])
            default:
                let length = fault == "other length" ? Self.length + 1 : Self.length
                return .file(ServedFile(TestPattern(seed: 3), length: length, entityTag: "\"v3\""), request)
            }
        }
        let outcome = try await harness.fetch(good.text("file.bin"), bad.text("file.bin")) {
            $0.options.connections = .fixed(4)
        }
        harness.expectWhole(outcome, file)
        await good.stop()
        await bad.stop()
    }

    @Test("a first URL that is bad does not fail the file while a mirror has it")
    func badFirst() async throws {
        let harness = try Harness()
        let file = ServedFile(length: fileLength)
        let good = try await serve(Served(file))
        let bad = try await ScriptedServer.start { _ in .response(404) }
        let outcome = try await harness.fetch(bad.text("file.bin"), good.text("other.bin"))
        harness.expectWhole(outcome, file)
        await good.stop()
        await bad.stop()
    }

    @Test("the polite default begins with one connection, and one host gets no more than its cap")
    func polite() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.rate = 20_000_000
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.options.connections = .adaptive(most: 4)
        }
        harness.expectWhole(outcome, file)
        #expect(server.connectionCount <= 4)
        await server.stop()
    }
}

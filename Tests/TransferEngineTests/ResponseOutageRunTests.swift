// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Outages that responses report, in the engine")
struct ResponseOutageRunTests {
    private static let second: Int64 = 1_000_000_000

    /// Responds to every request, and moves the clock, until all transfers have ended or a time has come.
    ///
    /// - Returns: The responses by host, without those that have the file.
    private func serve(
        _ stage: Stage,
        until end: Int64,
        _ status: (_ url: HTTPURL, _ now: Int64) -> (status: Int, fields: HeaderFields)
    ) -> [String: Int] {
        var refusals: [String: Int] = [:]
        let began = stage.clock.now
        while stage.engine.counts.waiting + stage.engine.counts.running + stage.engine.counts.retrying > 0 {
            guard let exchange = stage.open.first else {
                guard stage.clock.now - began < end else { break }
                stage.clock.advanceToNext()
                continue
            }
            let url = exchange.request.url
            let (status, fields) = status(url, stage.clock.now - began)
            if status == 200 {
                Served(length: 4).answer(exchange)
            } else {
                refusals[url.origin.host, default: 0] += 1
                var fields = fields
                fields.append("Content-Length", "0")
                exchange.respond(status, fields, framing: .none)
                exchange.end()
            }
        }
        return refusals
    }

    @Test(
        "1,000 transfers of ten hosts outlast 20 s of errors, during which each host gets at most 8 requests",
        arguments: [429, 500, 502, 503, 504]
    )
    func outlasts(status: Int) throws {
        let stage = Stage()
        for index in 0..<1000 {
            try stage.add("http://h\(index % 10)/f\(index)") { options in
                options.outageTimeout = .seconds(30)
                options.retries = 5
            }
        }
        let refusals = self.serve(stage, until: 60 * Self.second) { _, now in
            (now < 20 * Self.second ? status : 200, [:])
        }
        let counts = stage.engine.counts
        #expect(counts.finished == 1000 && counts.failed == 0 && counts.held == 0)
        #expect(refusals.count == 10 && refusals.values.allSatisfy { $0 <= 8 }, "\(refusals)")
        #expect(stage.clock.now < 32 * Self.second)
    }

    @Test("a minute of 503 or 429 with Retry-After fails nothing", arguments: [429, 503])
    func requestedDelays(status: Int) throws {
        let stage = Stage()
        for index in 0..<200 {
            try stage.add("http://a/f\(index)") { $0.outageTimeout = .seconds(30) }
        }
        _ = self.serve(stage, until: 120 * Self.second) { _, now in
            now < 60 * Self.second ? (status, ["Retry-After": "3"]) : (200, [:])
        }
        #expect(stage.engine.counts.finished == 200 && stage.clock.now < 70 * Self.second)
    }

    @Test("a host that answers 500 to half of its URLs delivers the other half at once; the rest fail by their retries")
    func half() throws {
        let stage = Stage()
        for index in 0..<1000 {
            try stage.add("http://a/f\(index)") { options in
                options.outageTimeout = .seconds(30)
                options.retries = 2
            }
        }
        let answer = { (url: HTTPURL, _: Int64) -> (Int, HeaderFields) in
            (url.path.last?.wholeNumberValue ?? 0 < 5 ? 500 : 200, [:])
        }
        _ = self.serve(stage, until: 3 * Self.second, answer)
        #expect(stage.engine.counts.finished == 500)
        _ = self.serve(stage, until: 600 * Self.second, answer)
        #expect(stage.engine.counts.finished == 500 && stage.engine.counts.failed == 500)
        let failed = stage.recorder.events.compactMap { event -> TransferFailure? in
            if case .failed(let failure) = event.kind { failure } else { nil }
        }
        #expect(failed.allSatisfy { $0.status == 500 && $0.message.contains("attempts)") })
    }

    @Test("a transfer whose host is held starts at a mirror on a free host")
    func mirror() throws {
        let stage = Stage(limit: 3)
        for index in 0..<3 { try stage.add("http://a/f\(index)") { $0.outageTimeout = .seconds(30) } }
        for _ in 0..<3 {
            try stage.exchange().respond(502, ["Content-Length": "0"], framing: .none)
            try stage.exchange().end()
        }
        #expect(stage.engine.holds.map(\.reason) == [.errors] && stage.open.isEmpty)
        #expect(stage.engine.counts.held == 3 && stage.engine.heldStarted == 3)
        let mirrored = try stage.add("http://a/m", "http://b/m") { $0.outageTimeout = .seconds(30) }
        let single = try stage.add("http://a/s") { $0.outageTimeout = .seconds(30) }
        #expect(try stage.exchange().request.url.description == "http://b/m" && stage.open.count == 1)
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.end(mirrored) == "finished" && stage.end(single) == nil)
        #expect(stage.engine.counts.held == 4 && stage.engine.heldStarted == 3)
    }

    @Test("a request that cannot be repeated is evidence of an outage, and does not probe it")
    func unrepeatable() throws {
        let stage = Stage(limit: 3)
        let ids = try (0..<10)
            .map { index in
                var options = DownloadOptions()
                options.outageTimeout = .seconds(30)
                var request = DownloadRequest([try HTTPURL("http://a/f\(index)")], options: options)
                request.method = "POST"
                request.body = [1]
                return try stage.engine.add(request)
            }
        let refusals = self.serve(stage, until: 29 * Self.second) { _, now in
            (now < 20 * Self.second ? 502 : 200, [:])
        }
        #expect(refusals == ["a": 3])
        _ = self.serve(stage, until: 40 * Self.second) { _, _ in (200, [:]) }
        #expect(ids.filter { stage.end($0) == "finished" }.count == 7)
    }

    @Test("a hold shows the time of the next attempt, also while the network is held")
    func nextTry() throws {
        let stage = Stage(limit: 3)
        for host in ["a", "b", "c", "d"] {
            try stage.add("http://\(host)/f") { $0.outageTimeout = .seconds(3600) }
        }
        func fail() throws {
            while let exchange = stage.open.first {
                var error = TransportError(.unreachable, "no route")
                error.peer = exchange.request.url.origin
                exchange.fail(error)
            }
        }
        for _ in 0..<12 {
            try fail()
            let hold = try #require(stage.engine.hold(of: try HTTPURL("http://d/f")))
            #expect(hold.reason == .network && hold.nextTry ?? 0 > stage.clock.wallNow)
            for _ in 0..<40 where stage.open.isEmpty { stage.clock.advanceToNext() }
        }
        #expect(stage.engine.counts.failed == 0)
    }
}

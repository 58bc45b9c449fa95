// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Outages that responses report")
struct ResponseOutageTests {
    private static let second: Int64 = 1_000_000_000
    private static let patience: Int64 = 30 * second

    /// A response with a status to a transfer, which would be repeated.
    private func response(_ status: Int, to id: UInt64, retryAfter: Int64? = nil) -> EngineMachine.RunResult {
        var evidence = OutageEvidence(.errors)
        evidence.status = status
        evidence.resource = Int(id)
        return .retry(
            EngineMachine.Failure(
                evidence,
                isThrottled: status == 429 || status == 503,
                message: "\(status)",
                retryAfter: retryAfter,
                jitter: 0.5
            )
        )
    }

    /// Runs a queue against hosts whose responses depend on the time.
    ///
    /// - Returns: The number of failed transfers, the end of the last one, and the requests while hosts failed.
    private func run(
        _ count: Int,
        hosts: Int,
        limit: Int = 5,
        until end: Int64 = 600 * second,
        status: (_ id: UInt64, _ attempt: Int, _ now: Int64) -> (status: Int, retryAfter: Int64?)
    ) -> (failed: Int, finished: Int, end: Int64, requests: [Int: Int]) {
        var stage = MachineStage(limit: limit)
        for index in 0..<count { stage.add("h\(index % hosts)", retries: 5, patience: Self.patience) }
        var requests: [Int: Int] = [:]
        var attempts: [UInt64: Int] = [:]
        while !stage.machine.isIdle, stage.now < end {
            let starts = stage.starts()
            for id in starts {
                let host = Int(id - 1) % hosts
                attempts[id, default: 0] += 1
                let (status, retryAfter) = status(id, attempts[id] ?? 0, stage.now)
                stage.machine.hostReached(TransferID(id), status: nil, now: stage.now)
                stage.machine.hostReached(TransferID(id), status: status, now: stage.now)
                if status == 200 {
                    stage.end(id, host: "h\(host)", hasResponse: true)
                } else {
                    requests[host, default: 0] += 1
                    stage.end(
                        id,
                        host: "h\(host)",
                        self.response(status, to: id, retryAfter: retryAfter),
                        hasResponse: true
                    )
                }
            }
            if !starts.isEmpty { continue }
            guard let next = stage.wakeUp else { break }
            stage.reach(next)
        }
        let totals = stage.machine.totals
        return (totals.failed, totals.finished, stage.now, requests)
    }

    @Test(
        "a thousand transfers of ten hosts outlast 20 s of errors, with few requests to each host",
        arguments: [429, 500, 502, 503, 504, 522]
    )
    func outlasts(status: Int) {
        let result = self.run(1000, hosts: 10) { _, _, now in (now < 20 * Self.second ? status : 200, nil) }
        #expect(result.failed == 0 && result.finished == 1000)
        #expect(result.end < 32 * Self.second)
        #expect((result.requests.values.max() ?? 0) <= 8, "\(result.requests)")
    }

    @Test("a host that answers 500 to half of its URLs delivers the other half at once", arguments: [true, false])
    func half(isFirst: Bool) {
        let result = self.run(1000, hosts: 1, until: 10 * Self.second) { id, _, _ in
            let isBroken = isFirst ? id <= 500 : id % 2 == 0
            return (isBroken ? 500 : 200, nil)
        }
        #expect(result.finished == 500)
    }

    @Test("a thousand broken URLs do not hide ten good ones")
    func hidden() {
        let result = self.run(1010, hosts: 1) { id, _, _ in (id > 1000 ? 200 : 502, nil) }
        #expect(result.finished == 10 && result.failed == 1000)
    }

    @Test("a minute of requested delays uses up no retries", arguments: [429, 503])
    func requested(status: Int) {
        let result = self.run(200, hosts: 1) { _, _, now in now < 60 * Self.second ? (status, 3) : (200, nil) }
        #expect(result.failed == 0 && result.finished == 200 && result.end < 70 * Self.second)
        let alone = self.run(1, hosts: 1) { _, _, now in now < 60 * Self.second ? (status, 3) : (200, nil) }
        #expect(alone.failed == 0)
        let endless = self.run(1, hosts: 1, until: 3600 * Self.second) { _, _, _ in (status, 3) }
        #expect(endless.failed == 1)
    }

    @Test("a host that fails the first two requests for each URL is drained by its probes")
    func firstRequests() {
        let result = self.run(100, hosts: 1) { _, attempt, _ in (attempt < 3 ? 503 : 200, nil) }
        #expect(result.failed == 0 && result.finished == 100)
    }

    @Test("one broken URL of a healthy host fails by its own retries")
    func oneURL() {
        var stage = MachineStage()
        stage.add("a", retries: 2, patience: Self.patience)
        var last: EngineMachine.Verdict?
        for _ in 1...3 {
            while stage.state(1) != .running {
                stage.starts()
                if stage.state(1) != .running, let time = stage.wakeUp { stage.reach(time) }
            }
            last = stage.end(1, self.response(502, to: 1), hasResponse: true)
        }
        #expect(last == .refused(.noneLeft(attempts: 3)))
    }

    @Test("fewer than three URLs, another response between, or 500 after another response do not start an outage")
    func noOutage() {
        var stage = MachineStage()
        for _ in 1...8 { stage.add("a", retries: 3, patience: Self.patience) }
        stage.starts()
        for id in [1, 2] as [UInt64] { stage.end(id, self.response(502, to: id), hasResponse: true) }
        stage.end(3, hasResponse: true)
        stage.end(4, self.response(502, to: 4), hasResponse: true)
        for id in [5, 6, 7] as [UInt64] { stage.end(id, self.response(500, to: id), hasResponse: true) }
        #expect(stage.machine.holds(at: stage.now).isEmpty)
    }

    @Test("a long download that had its response before the outage does not end it")
    func longDownload() {
        var stage = MachineStage()
        for _ in 1...4 { stage.add("a", retries: 3, patience: Self.patience) }
        stage.starts()
        stage.machine.hostResponds(to: TransferID(4), status: 200, now: stage.now)
        for id in 1...3 as ClosedRange<UInt64> { stage.end(id, self.response(502, to: id), hasResponse: true) }
        #expect(stage.machine.holds(at: stage.now).map(\.reason) == [.errors])
        stage.end(4, hasResponse: true)
        #expect(stage.machine.holds(at: stage.now).count == 1)
    }

    @Test("a request that cannot be repeated never probes")
    func unrepeatable() {
        var stage = MachineStage()
        for _ in 1...3 { stage.add("a", retries: 3, patience: Self.patience) }
        stage.starts()
        let post = stage.add("a", priority: .high, patience: Self.patience) { $0.mayProbe = false }
        for id in 1...3 as ClosedRange<UInt64> { stage.end(id, self.response(502, to: id), hasResponse: true) }
        #expect(stage.starts().isEmpty)
        var probes = 0
        while let time = stage.wakeUp, time < Self.patience {
            stage.reach(time)
            for id in stage.starts() {
                probes += 1
                #expect(id != post.rawValue)
                stage.end(id, self.response(502, to: id), hasResponse: true)
            }
            #expect(stage.starts().isEmpty)
        }
        #expect(probes > 2)
    }

    @Test("errors of a host behind a proxy hold that host alone")
    func proxy() {
        let proxy = MachineStage.origin("proxy")
        var stage = MachineStage(limit: 3)
        for _ in 1...4 { stage.add("a", retries: 3, patience: Self.patience) { $0.gate = proxy } }
        stage.add("b", patience: Self.patience) { $0.gate = proxy }
        let first = stage.starts()
        for id in first where id != 5 { stage.end(id, host: "a", self.response(502, to: id), hasResponse: true) }
        for id in stage.starts() where id != 5 {
            stage.end(id, host: "a", self.response(502, to: id), hasResponse: true)
        }
        #expect(stage.machine.holds(at: stage.now).map(\.origin) == [MachineStage.origin("a")])
        #expect(stage.state(5) == .running)
        #expect(stage.machine.heldCounts(at: stage.now).all >= 1)
    }

    @Test("retries are used up where the caller counts outages")
    func counted() {
        var stage = MachineStage()
        for _ in 1...3 { stage.add("a", retries: 0, patience: Self.patience) { $0.countsOutages = true } }
        stage.starts()
        for id in 1...3 as ClosedRange<UInt64> {
            let verdict = stage.end(id, self.response(502, to: id), hasResponse: true)
            #expect(verdict == .refused(.noneLeft(attempts: 1)))
        }
    }

    @Test("held transfers are counted, whatever holds them")
    func heldCount() {
        var stage = MachineStage(limit: 5)
        for _ in 1...100 { stage.add("a", retries: 3, patience: Self.patience) }
        stage.add("b")
        for id in stage.starts() where id <= 100 {
            stage.end(id, self.response(502, to: id), hasResponse: true)
        }
        #expect(stage.machine.heldCounts(at: stage.now).all >= 97)
        stage.machine.releaseHolds(of: nil, now: stage.now)
        #expect(stage.machine.heldCounts(at: stage.now).all == 0)
    }

    @Test("a response that requests more than the transfer waits fails it, and ends no outage")
    func asksTooMuch() {
        var stage = MachineStage()
        for _ in 1...4 { stage.add("a", retries: 3, patience: Self.patience) }
        stage.add("a", retries: 3, patience: Self.patience) { $0.maximumRetryAfter = 300 }
        stage.starts()
        for id in 1...3 as ClosedRange<UInt64> { stage.end(id, self.response(503, to: id), hasResponse: true) }
        let verdict = stage.end(5, self.response(503, to: 5, retryAfter: 3600), hasResponse: true)
        #expect(verdict == .refused(.retryAfter(seconds: 3600)))
        #expect(stage.machine.holds(at: stage.now).map(\.reason) == [.errors])
    }

    @Test("transfers with mirrors leave a held host, also after an attempt, and return when the mirror is held")
    func mirrors() {
        var stage = MachineStage(limit: 3)
        let mirror = EngineMachine.MirrorHost(origin: MachineStage.origin("m"))
        for _ in 1...3 { stage.add("a", retries: 3, patience: Self.patience) }
        stage.add("a", retries: 3, patience: Self.patience) { $0.mirrors = [mirror] }
        stage.starts()
        for id in 1...3 as ClosedRange<UInt64> { stage.end(id, self.response(502, to: id), hasResponse: true) }
        #expect(stage.starts() == [4] && stage.machine.host(of: TransferID(4)) == mirror.origin)
        for _ in 1...3 { stage.add("m", retries: 3, patience: Self.patience) }
        stage.starts()
        for id in [5, 6] as [UInt64] { stage.end(id, host: "m", self.response(502, to: id), hasResponse: true) }
        stage.end(4, host: "m", self.response(502, to: 4), hasResponse: true)
        #expect(stage.machine.holds(at: stage.now).count == 2)
        #expect(stage.starts().isEmpty && stage.machine.host(of: TransferID(4)) == mirror.origin)
        stage.machine.limit = 10
        stage.machine.releaseHolds(of: MachineStage.origin("a"), now: stage.now)
        let starts = stage.starts()
        #expect(starts.contains(4) && stage.machine.host(of: TransferID(4)) == MachineStage.origin("a"))
        let counts = stage.machine.heldCounts(at: stage.now)
        #expect(counts.all == 3 && counts.started == 2)
    }

    @Test("the transfer that makes every other probe is replaced after a while")
    func replacedProber() {
        var stage = MachineStage()
        for _ in 1...6 { stage.add("a", retries: 3, patience: 3600 * Self.second) }
        stage.starts()
        for id in 1...6 as ClosedRange<UInt64> { stage.end(id, self.response(502, to: id), hasResponse: true) }
        var probers = stage.starts()
        while probers.count < 24, let time = stage.wakeUp {
            stage.reach(time)
            for id in stage.starts() {
                probers.append(id)
                stage.end(id, self.response(502, to: id), hasResponse: true)
            }
            #expect(stage.starts().isEmpty)
        }
        #expect(Set(probers).count >= 4, "\(probers)")
        #expect(probers.allSatisfy { stage.state($0) == .waiting })
    }

    @Test("hosts that fail at random and recover: every transfer ends, and no attempt is overdue", arguments: 0..<300)
    func walk(_ seed: Int) {
        var walk = ResponseOutageWalk(seed: seed)
        walk.run()
        #expect(walk.complaint == nil)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

/// Feeds a machine events and shows its actions as short words.
private struct Bench {
    var machine: UploadMachine
    var now: Int64 = 0
    var endings: [UploadMachine.Outcome] = []

    static let length: Int64 = 3 << 20
    static let file = FileIdentity(size: Self.length, modified: 5, changed: 5, device: 1, inode: 1)

    init(_ plan: UploadPlan, history: UploadHistory = UploadHistory(), time: Int64 = 0) {
        self.machine = UploadMachine(
            plan,
            history: history,
            slot: plan.url.origin,
            now: 0,
            earlierTime: time
        )
    }

    /// Begins with a file, or a stream of this length.
    mutating func open(length: Int64? = Self.length, file: FileIdentity = Self.file) -> [String] {
        let first = self.words(self.machine.began())
        guard first.contains("open") else { return first }
        let files = self.machine.plan.isStream ? [] : [file]
        return self.words(self.machine.opened(length: length, files: files))
    }

    mutating func head(_ status: Int, _ fields: HeaderFields = [:], framing: BodyFraming = .none) -> [String] {
        let head = ResponseHead(status: status, fields: fields, framing: framing)
        self.now += 1
        let id = self.machine.requestID
        return self.words(self.machine.headReceived(head, on: id, now: self.now, wallNow: 0))
    }

    /// A complete response without a body.
    mutating func respond(_ status: Int, _ fields: HeaderFields = [:]) -> [String] {
        self.connect()
        let actions = self.head(status, fields)
        guard case .read = self.machine.reading(self.machine.requestID) else { return actions }
        return actions + self.words(self.machine.responseEnded(self.machine.requestID))
    }

    mutating func connect() { self.machine.connected(self.machine.requestID, now: self.now) }

    mutating func send(_ count: Int64 = Self.length) {
        self.connect()
        self.machine.contentSent(Int(count), of: self.machine.requestID, now: self.now)
    }

    mutating func fail(
        _ code: TransportError.Code = .reset,
        isReused: Bool = false,
        content: TransferFailure? = nil
    ) -> [String] {
        let error = TransportError(code, "broken", onReusedConnection: isReused)
        return self.words(self.machine.requestFailed(self.machine.requestID, error, content: content))
    }

    mutating func decide(_ decision: PolicyDecision) -> [String] {
        self.words(self.machine.policyDecided(decision, on: self.machine.requestID, now: self.now))
    }

    mutating func body(_ bytes: [UInt8]) -> String {
        let id = self.machine.requestID
        switch bytes.withUnsafeBytes({ self.machine.bodyReceived($0, on: id, now: self.now) }) {
        case .deliver: return "deliver"
        case .discard: return "discard"
        case .perform(let actions): return self.words(actions).joined(separator: ", ")
        }
    }

    mutating func tick(
        _ now: Int64,
        _ content: UploadMachine.ContentState = .unchanged,
        floor: SpeedFloor? = nil
    ) -> [String] {
        self.now = now
        return self.words(self.machine.ticked(now, floor: floor, reports: true, content: content))
    }

    mutating func check(_ content: UploadMachine.ContentState = .unchanged) -> [String] {
        self.words(self.machine.contentChecked(content, now: self.now))
    }

    /// The failure of the end, if it failed or is to be retried.
    var failure: TransferFailure? {
        switch self.endings.last {
        case .failed(let failure), .retry(let failure): failure
        default: nil
        }
    }

    /// Shows actions; notes are shown only if they are all there is.
    mutating func words(_ actions: [UploadMachine.Action]) -> [String] {
        for action in actions { if case .end(let outcome) = action { self.endings.append(outcome) } }
        return actions.compactMap(Self.word)
    }

    private static func word(_ action: UploadMachine.Action) -> String? {
        switch action {
        case .reportStart, .note: nil
        case .openContent: "open"
        case .readJournal: "read journal"
        case .writeJournal(let record, let number):
            (record.isVoid ? "void journal" : "write journal") + (number.map { " \($0)" } ?? "")
        case .removeJournal: "remove journal"
        case .waitForConnection(let origin): "wait \(origin.host)"
        case .releaseConnection(let origin): "release \(origin.host)"
        case .noteUnrepeatable: "note unrepeatable"
        case .withdrawNote: "withdraw note"
        case .computeDigest(let algorithm, let range): "digest \(algorithm) \(range)"
        case .send(let request):
            "\(request.method) \(request.flow.url.path)" + (request.content.map { " \($0)" } ?? "")
                + (request.expectsContinue ? " expect" : "")
        case .cancel(let id): "cancel \(id)"
        case .resumeReading(let id): "resume \(id)"
        case .ask(let question, _):
            switch question {
            case .response: "ask response"
            case .redirect(_, let url, let method): "ask redirect \(method) \(url.path)"
            case .challenge: "ask challenge"
            }
        case .checkContent: "check"
        case .discardAnswer: "discard answer"
        case .terminate(let record): "terminate \(record.resource)"
        case .giveUp: "give up"
        case .cancelStream: "cancel stream"
        case .reportResponse(let head): "report \(head.status)"
        case .reportProgress(let progress): "progress \(progress.bytes)"
        case .end(let outcome):
            switch outcome {
            case .finished: "finished"
            case .failed: "failed"
            case .retry: "retry"
            case .paused: "paused"
            case .stopped: "stopped"
            case .cancelled(let keeping): keeping ? "kept" : "cancelled"
            }
        }
    }
}

@Suite("The machine of an upload's run")
struct UploadMachineTests {
    private let whole = "0..<\(Bench.length)"

    private func plan(_ change: (inout UploadPlan) -> Void = { _ in }) throws -> UploadPlan {
        var plan = UploadPlan(try HTTPURL("http://host/f"))
        plan.requests.retryStatuses = [503]
        change(&plan)
        return plan
    }

    private func record(_ file: FileIdentity = Bench.file, endpoint: String = "http://host/f") -> UploadRecord {
        UploadRecord(
            speaks: .tus,
            endpoint: endpoint,
            resource: "http://host/r/1",
            length: Bench.length,
            files: [file]
        )
    }

    private var changedFile: FileIdentity {
        var file = Bench.file
        file.changed = 6
        return file
    }

    private let change = TransferFailure(.fileIO, "f changed")

    /// A bench whose PATCH is under way, by tus.
    private func patching(_ change: (inout UploadPlan) -> Void = { _ in }) throws -> Bench {
        var bench = Bench(
            try self.plan { plan in
                plan.way = .by(.tus)
                change(&plan)
            }
        )
        var actions = bench.open()
        if actions == ["read journal"] { actions = bench.words(bench.machine.journalRead(.success(nil))) }
        #expect(actions == ["POST /f 0..<0"])
        actions = bench.respond(201, ["Location": "/r/1"])
        if actions == ["write journal 1"] { actions = bench.words(bench.machine.journalWritten(1, error: nil)) }
        #expect(actions == ["PATCH /r/1 \(self.whole)"])
        return bench
    }

    // MARK: One request

    @Test("a PUT: open, send, take the response, check the content, end")
    func singleRequest() throws {
        var bench = Bench(try self.plan())
        #expect(bench.open() == ["PUT /f \(self.whole)"])
        bench.send()
        #expect(bench.head(201, ["Share-Link": "http://host/link"], framing: .chunked) == ["report 201"])
        #expect(bench.body([1, 2]) == "deliver")
        #expect(bench.words(bench.machine.responseEnded(1)) == ["check"])
        #expect(bench.check() == ["release host", "finished"])
        guard case .finished(let completion) = bench.endings.first else { throw SyntaxError("not finished") }
        #expect(completion.status == 201 && completion.received == 2 && completion.sent == Bench.length)
        #expect(completion.length == Bench.length && bench.machine.hasAdvanced)
        #expect(completion.link == "http://host/link")
    }

    @Test("a success whose body does not end is read to a limit, in bytes or time", arguments: [true, false])
    func endlessResponse(isLong: Bool) throws {
        var bench = Bench(
            try self.plan {
                $0.answerLimit = 4
                $0.answerTime = 1000
            }
        )
        #expect(bench.open() == ["PUT /f \(self.whole)"])
        bench.send()
        #expect(bench.head(201, framing: .chunked) == ["report 201"])
        #expect(bench.body([1, 2]) == "deliver")
        if isLong { #expect(bench.body([3, 4, 5]) == "deliver") } else { bench.now += 2000 }
        #expect(bench.body([6]) == "cancel 1, check")
        #expect(bench.check() == ["release host", "finished"])
    }

    @Test("content that cannot be opened fails before a request")
    func unopened() throws {
        var bench = Bench(try self.plan())
        _ = bench.words(bench.machine.began())
        #expect(bench.words(bench.machine.openFailed(StorageError(.cannotOpen, "none"))) == ["release host", "failed"])
        #expect(bench.failure?.code == .cannotOpen)
    }

    @Test("a success before the content is whole is a failure that may be retried")
    func early() throws {
        var bench = Bench(try self.plan())
        _ = bench.open()
        bench.send(100)
        #expect(bench.head(200) == ["cancel 1", "release host", "retry"])
        #expect(bench.failure?.status == 200)
    }

    @Test("a response that breaks off is discarded and retried")
    func torn() throws {
        var bench = Bench(try self.plan())
        _ = bench.open()
        bench.send()
        _ = bench.head(200, framing: .chunked)
        #expect(bench.fail(.truncated) == ["discard answer", "release host", "retry"])
    }

    @Test("a body that its receiver refuses fails the upload")
    func refusedBody() throws {
        var bench = Bench(try self.plan())
        _ = bench.open()
        bench.send()
        _ = bench.head(200, framing: .chunked)
        #expect(bench.words(bench.machine.failed(self.change)) == ["cancel 1", "release host", "failed"])
    }

    @Test("statuses: 503 is retried, 400 and 413 fail, 507 means no space")
    func statuses() throws {
        let cases: [(Int, String, TransferFailure.Code)] = [
            (503, "retry", .overloaded), (400, "failed", .badResponse), (413, "failed", .tooLarge),
            (507, "failed", .noSpace), (404, "failed", .notFound), (405, "failed", .badResponse),
        ]
        for (status, end, code) in cases {
            var bench = Bench(try self.plan())
            _ = bench.open()
            bench.send()
            #expect(bench.respond(status) == ["release host", end], "\(status)")
            #expect(bench.failure?.code == code && bench.failure?.status == status)
        }
    }

    @Test("a refusal's line of plain text is part of the message; the policy gets the response")
    func explanation() throws {
        for hasPolicy in [false, true] {
            var bench = Bench(try self.plan { $0.requests.hasPolicy = hasPolicy })
            _ = bench.open()
            bench.send()
            #expect(bench.head(400, ["Content-Type": "text/plain"], framing: .chunked) == [])
            #expect(bench.body(Array("disk full\nmore".utf8)) == "discard")
            #expect(bench.words(bench.machine.responseEnded(1)) == ["release host", "failed"])
            #expect(bench.failure?.message.hasSuffix(": disk full") == true)
            #expect(bench.failure?.response?.prefix.isEmpty == (hasPolicy ? false : nil))
        }
    }

    @Test("a long unwanted body is not read to its end")
    func drains() throws {
        var bench = Bench(try self.plan())
        _ = bench.open()
        bench.send()
        _ = bench.head(400, framing: .chunked)
        #expect(bench.body([UInt8](repeating: 0, count: 65_536)) == "discard")
        #expect(bench.body([0]) == "cancel 1, release host, failed")
        var other = Bench(try self.plan())
        _ = other.open()
        other.send()
        #expect(other.head(400, framing: .length(1 << 20)) == ["cancel 1", "release host", "failed"])
    }

    @Test("a refusal while the content is being sent ends the request; a policy may read its beginning")
    func earlyRefusal() throws {
        var bench = Bench(try self.plan())
        _ = bench.open()
        bench.send(100)
        #expect(bench.head(413, framing: .chunked) == ["cancel 1", "release host", "failed"])
        var other = Bench(try self.plan { $0.requests.hasPolicy = true })
        _ = other.open()
        other.send(100)
        #expect(other.head(413, framing: .chunked) == [])
        #expect(other.words(other.machine.responseEnded(1)) == ["release host", "failed"])
    }

    // MARK: What must not be sent twice

    @Test("a request without effects is retried, a POST only if it was not sent (RFC 9110 §9.2.2)")
    func unrepeatable() throws {
        for (method, isConnected, end) in [
            ("PUT", true, "retry"), ("POST", true, "failed"), ("POST", false, "retry"),
        ] {
            var bench = Bench(try self.plan { $0.method = method })
            _ = bench.open()
            if isConnected { bench.connect() }
            #expect(bench.fail() == ["release host", end])
        }
    }

    @Test("a POST is noted before it is sent; if that fails, it is not sent")
    func noted() throws {
        for error in [nil, StorageError(.noSpace, "full")] {
            var bench = Bench(
                try self.plan { plan in
                    plan.method = "POST"
                    plan.notesUnrepeatable = true
                }
            )
            #expect(bench.open() == ["note unrepeatable"])
            let actions = bench.words(bench.machine.unrepeatableNoted(error))
            #expect(actions == (error == nil ? ["POST /f \(self.whole)"] : ["release host", "failed"]))
        }
    }

    @Test("the note of a POST that was not sent is removed before the run ends, however it ends")
    func withdrawn() throws {
        let plan = try self.plan { plan in
            plan.method = "POST"
            plan.notesUnrepeatable = true
        }
        for (reason, end) in [
            (nil, "retry"), (.stopped, "stopped"), (.stoppedAfterRequest, "stopped"), (.paused, "paused"),
            (.cancelled(keeping: true), "kept"),
        ] as [(UploadMachine.Interruption?, String)] {
            for isNoted in [false, true] where isNoted || reason != nil {
                var bench = Bench(plan)
                _ = bench.open()
                if isNoted { _ = bench.words(bench.machine.unrepeatableNoted(nil)) }
                let actions = reason.map { bench.words(bench.machine.interrupted(by: $0)) } ?? bench.fail()
                #expect(actions.last == "withdraw note" && bench.endings.isEmpty, "\(actions)")
                // A note that was being written comes first, and an interruption has its effect in the engine.
                #expect(bench.words(bench.machine.unrepeatableNoted(nil)) == [])
                #expect(bench.words(bench.machine.interrupted(by: .stopped)) == [])
                #expect(bench.words(bench.machine.noteWithdrawn()) == [end])
            }
        }
    }

    @Test("a queue that stops waits for a POST that was sent, and for no other request")
    func completed() throws {
        for (method, isConnected, isAwaited) in [("POST", true, true), ("POST", false, false), ("PUT", true, false)] {
            var bench = Bench(try self.plan { $0.method = method })
            _ = bench.open()
            if isConnected { bench.connect() }
            let actions = bench.words(bench.machine.interrupted(by: .stoppedAfterRequest))
            #expect(actions.isEmpty == isAwaited, "\(actions)")
            guard isAwaited else { continue }
            bench.send(Bench.length)
            _ = bench.respond(201)
            #expect(bench.check().last == "finished")
        }
    }

    @Test("a POST that may be repeated is sent again, and needs no note")
    func permitted() throws {
        var bench = Bench(
            try self.plan { plan in
                plan.method = "POST"
                plan.notesUnrepeatable = true
                plan.requests.mayBeRepeated = true
            }
        )
        #expect(bench.open() == ["POST /f \(self.whole)"])
        bench.send(Bench.length)
        #expect(bench.fail() == ["release host", "retry"])
    }

    @Test("a POST is not sent again after it was redirected to a GET that broke")
    func rewritten() throws {
        var bench = Bench(try self.plan { $0.method = "POST" })
        _ = bench.open()
        bench.send(Bench.length)
        _ = bench.respond(303, ["Location": "/done"])
        bench.connect()
        #expect(bench.fail() == ["release host", "failed"])
    }

    @Test("a closed pooled connection: one repetition, of a repeatable request, not of a stream")
    func pooled() throws {
        var bench = Bench(try self.plan())
        _ = bench.open()
        bench.connect()
        #expect(bench.fail(.truncated, isReused: true) == ["PUT /f \(self.whole)"])
        bench.connect()
        #expect(bench.fail(.truncated, isReused: true) == ["release host", "retry"])
        var post = Bench(try self.plan { $0.method = "POST" })
        _ = post.open()
        post.connect()
        #expect(post.fail(.truncated, isReused: true) == ["release host", "failed"])
        var stream = Bench(try self.plan { $0.isStream = true })
        _ = stream.open(length: nil)
        #expect(stream.fail(.truncated, isReused: true) == ["release host", "retry"])
    }

    @Test("a stream that was read from is not sent again: no retry, redirect, challenge, 417, or further run")
    func spent() throws {
        for event in 0..<5 {
            var bench = Bench(
                try self.plan { plan in
                    plan.isStream = true
                    plan.requests.hasPolicy = event != 2
                }
            )
            #expect(bench.open(length: nil) == ["PUT /f 0..<\(Int64.max)"])
            bench.connect()
            bench.machine.contentHeld(true, of: 1, now: 0)
            bench.machine.contentHeld(false, of: 1, now: 0)
            let actions: [String] =
                switch event {
                case 0: bench.fail()
                // The policy is asked first: the caller may begin anew with another stream.
                case 1:
                    bench.head(307, ["Location": "/other"]) + bench.decide(.proceed)
                        + bench.words(bench.machine.responseEnded(1))
                case 2: bench.head(417) + bench.words(bench.machine.responseEnded(1))
                case 3: bench.head(401) + bench.decide(.repeat) + bench.words(bench.machine.responseEnded(1))
                default: bench.words(bench.machine.interrupted(by: .stopped))
                }
            guard event == 4 else {
                #expect(actions.suffix(3) == ["release host", "cancel stream", "failed"], "\(event)")
                continue
            }
            #expect(actions == ["cancel 1", "release host", "stopped"])
            var next = Bench(bench.machine.plan, history: bench.machine.history)
            #expect(next.open() == ["release host", "cancel stream", "failed"])
            #expect(next.failure?.code == .cannotResume)
        }
    }

    @Test("a stream of unknown length is whole once its end was sent")
    func streamEnd() throws {
        var bench = Bench(try self.plan { $0.isStream = true })
        _ = bench.open(length: nil)
        bench.send(5)
        var early = bench
        #expect(early.head(200) == ["cancel 1", "release host", "retry"])
        bench.machine.contentEnded(at: 5, of: 1)
        #expect(bench.head(200) == ["report 200"])
        _ = bench.words(bench.machine.responseEnded(1))
        #expect(bench.check() == ["release host", "cancel stream", "finished"])
    }

    // MARK: Redirects, challenges, 417

    @Test("redirects keep the content at 307 and 308, and become a GET at 303, and of a POST (RFC 9110 §15.4)")
    func redirects() throws {
        for method in ["PUT", "POST"] {
            for status in [301, 302, 303, 307, 308] {
                var bench = Bench(try self.plan { $0.method = method })
                _ = bench.open()
                bench.send()
                let isRewritten = status == 303 || (method == "POST" && status < 303)
                let next = isRewritten ? "GET /other" : "\(method) /other \(self.whole)"
                #expect(bench.respond(status, ["Location": "/other"]) == [next])
                // A response to a GET without content is taken as the result.
                guard isRewritten else { continue }
                #expect(bench.respond(200) == ["report 200", "check"])
            }
        }
    }

    @Test("another host: the connection is released, and one to that host waited for")
    func otherHost() throws {
        var bench = Bench(try self.plan())
        _ = bench.open()
        bench.send()
        #expect(bench.respond(307, ["Location": "http://other/f"]) == ["release host", "wait other"])
        let origin = try HTTPURL("http://other/f").origin
        #expect(bench.words(bench.machine.connectionGranted(origin)) == ["PUT /f \(self.whole)"])
        #expect(bench.fail() == ["release other", "retry"])
        #expect(bench.words(bench.machine.connectionGranted(origin)) == ["release other"])
    }

    @Test("a redirect to GET before the content is whole fails; so do a downgrade and too many redirects")
    func refusedRedirects() throws {
        var early = Bench(try self.plan())
        _ = early.open()
        early.send(1)
        #expect(early.head(303, ["Location": "/login"]) == ["cancel 1", "release host", "failed"])
        #expect(early.failure?.message.contains("/login") == true)
        var plan = UploadPlan(try HTTPURL("https://host/f"))
        var down = Bench(plan)
        _ = down.open()
        down.send()
        #expect(down.respond(307, ["Location": "http://host/f"]) == ["release host", "failed"])
        plan.requests.redirects.maximum = 1
        var many = Bench(plan)
        _ = many.open()
        many.send()
        #expect(many.respond(307, ["Location": "/1"]) == ["PUT /1 \(self.whole)"])
        many.send()
        #expect(many.respond(307, ["Location": "/2"]) == ["release host", "failed"])
        #expect(many.failure?.code == .redirects)
    }

    @Test("an unencrypted resource of an encrypted upload is refused")
    func downgradedResource() throws {
        var plan = UploadPlan(try HTTPURL("https://host/f"))
        plan.way = .by(.tus)
        var bench = Bench(plan)
        _ = bench.open()
        // The server has a resource now: the content is checked, as for every failure.
        #expect(bench.respond(201, ["Location": "http://host/r/1"]) == ["release host", "check"])
        #expect(bench.check() == ["failed"] && bench.failure?.code == .redirects)
    }

    @Test("the policy decides about redirects while reading is paused")
    func redirectPolicy() throws {
        let cases: [(PolicyDecision, [String])] = [
            (.proceed, ["resume 1"]), (.refuse, ["resume 1"]), (.cancel, ["cancel 1", "release host", "cancelled"]),
        ]
        for (decision, actions) in cases {
            var bench = Bench(try self.plan { $0.requests.hasPolicy = true })
            _ = bench.open()
            bench.send()
            #expect(bench.head(307, ["Location": "/o"], framing: .chunked) == ["ask redirect PUT /o"])
            #expect(bench.machine.reading(1) == .pause)
            // The stall clock stands still.
            bench.machine.contentHeld(false, of: 1, now: 0)
            #expect(bench.decide(decision) == actions)
            #expect(bench.decide(.proceed) == [])
            switch decision {
            case .proceed: #expect(bench.words(bench.machine.responseEnded(1)) == ["PUT /o \(self.whole)"])
            case .refuse: #expect(bench.words(bench.machine.responseEnded(1)) == ["release host", "failed"])
            default: #expect(bench.machine.reading(1) == .close)
            }
        }
    }

    @Test("credentials are requested at most eight times; without a policy 401 fails")
    func challenges() throws {
        var bare = Bench(try self.plan())
        _ = bare.open()
        bare.send()
        #expect(bare.respond(401) == ["release host", "failed"] && bare.failure?.code == .authentication)
        var bench = Bench(try self.plan { $0.requests.hasPolicy = true })
        _ = bench.open()
        for round in 1...8 {
            bench.send()
            #expect(bench.respond(401) == ["ask challenge"])
            #expect(bench.decide(.repeat) == ["resume \(round)"])
            #expect(bench.words(bench.machine.responseEnded(round)) == ["PUT /f \(self.whole)"])
        }
        bench.send()
        #expect(bench.respond(401) == ["release host", "failed"])
    }

    @Test("the policy decides once about the response that completes the upload, across runs")
    func responsePolicy() throws {
        var bench = Bench(try self.plan { $0.requests.hasPolicy = true })
        _ = bench.open()
        bench.send()
        #expect(bench.respond(200) == ["ask response"])
        #expect(bench.decide(.proceed) == ["report 200", "resume 1"])
        #expect(bench.fail() == ["discard answer", "release host", "retry"])
        var next = Bench(bench.machine.plan, history: bench.machine.history)
        _ = next.open()
        next.send()
        #expect(next.respond(200) == ["report 200", "check"])
    }

    @Test("Expect is sent from a length on, and not again after 417, also by later runs")
    func expectations() throws {
        let plan = try self.plan { $0.expectsFrom = Bench.length }
        var small = Bench(plan)
        #expect(small.open(length: 5) == ["PUT /f 0..<5"])
        var bench = Bench(plan)
        #expect(bench.open() == ["PUT /f \(self.whole) expect"])
        bench.connect()
        #expect(bench.head(417) == ["cancel 1", "PUT /f \(self.whole)"])
        bench.connect()
        #expect(bench.fail() == ["release host", "retry"])
        var next = Bench(plan, history: bench.machine.history)
        #expect(next.open() == ["PUT /f \(self.whole)"])
        next.send()
        #expect(next.respond(417) == ["release host", "failed"])
    }

    // MARK: An existing resource

    @Test("409: the existing resource is compared by its digest, and an equal one completes the upload")
    func comparison() throws {
        let own = [UInt8](repeating: 7, count: 32)
        let field = "sha-256=:\(Base64.encode(own)):"
        let length = "\(Bench.length)"
        let cases: [(HeaderFields, Bool)] = [
            (["Repr-Digest": field, "Content-Length": length], true), (["Repr-Digest": field], false),
            (["Repr-Digest": field, "Content-Length": "5"], false), (["Content-Length": length], false),
        ]
        for (fields, compares) in cases {
            for isEqual in [true, false] {
                var bench = Bench(try self.plan())
                _ = bench.open()
                bench.send()
                #expect(bench.respond(409) == ["HEAD /f"])
                guard compares else {
                    #expect(bench.respond(200, fields) == ["release host", "failed"])
                    #expect(bench.failure?.status == 409)
                    // Another length says that it is another file; without a digest or a length nothing does.
                    let isOther = fields["Content-Length"] == "5"
                    #expect(bench.failure?.code == (isOther ? .fileExists : .badResponse))
                    continue
                }
                #expect(bench.respond(200, fields) == ["digest sha256 \(self.whole)"])
                let digest = isEqual ? own : [1]
                let actions = bench.words(bench.machine.digestComputed(.success(digest)))
                #expect(actions == (isEqual ? ["check"] : ["release host", "failed"]))
                if isEqual { #expect(bench.check() == ["release host", "finished"]) }
                if !isEqual { #expect(bench.failure?.code == .fileExists) }
            }
        }
    }

    @Test("409 to a POST or to a stream is not compared")
    func uncompared() throws {
        for isStream in [true, false] {
            var bench = Bench(
                try self.plan { plan in
                    plan.isStream = isStream
                    plan.method = isStream ? "PUT" : "POST"
                }
            )
            _ = bench.open()
            bench.send()
            #expect(bench.respond(409).last == "failed")
        }
    }

    // MARK: OPTIONS

    @Test("OPTIONS is sent only for content that is worth it")
    func automatic() throws {
        for (length, first) in [(UploadMachine.leastAutomatic, "OPTIONS"), (UploadMachine.leastAutomatic - 1, "PUT")] {
            var bench = Bench(try self.plan { $0.way = .automatic })
            #expect(bench.open(length: length).first?.hasPrefix(first) == true)
        }
        // By tus, a POST would lose its media type, and a folder would not choose the name.
        for length in [UploadMachine.leastAutomatic, UploadMachine.leastAutomatic - 1] {
            var bench = Bench(
                try self.plan { plan in
                    plan.way = .automatic
                    plan.method = "POST"
                }
            )
            #expect(bench.open(length: length).first?.hasPrefix("POST /f") == true)
        }
    }

    @Test("OPTIONS without a response: the upload is sent without it, also by later runs")
    func unanswered() throws {
        for hangs in [true, false] {
            var bench = Bench(
                try self.plan { plan in
                    plan.way = .automatic
                    plan.requests.stallTimeout = 60_000_000_000
                }
            )
            #expect(bench.open() == ["OPTIONS /f"])
            bench.connect()
            if hangs {
                #expect(bench.tick(10_000_000_000) == ["progress 0"])
                #expect(bench.tick(10_000_000_001) == ["cancel 1", "PUT /f \(self.whole)"])
            } else {
                #expect(bench.fail() == ["PUT /f \(self.whole)"])
            }
            bench.connect()
            #expect(bench.fail() == ["release host", "retry"])
            var next = Bench(bench.machine.plan, history: bench.machine.history)
            #expect(next.open() == ["PUT /f \(self.whole)"])
        }
        // Without a connection the server had nothing to respond to.
        var bench = Bench(try self.plan { $0.way = .automatic })
        _ = bench.open()
        #expect(bench.fail(.connect) == ["release host", "retry"])
    }

    // MARK: Resuming

    @Test("the resource is in the journal before the first byte is sent to it")
    func journal() throws {
        var bench = Bench(
            try self.plan { plan in
                plan.way = .by(.tus)
                plan.hasJournal = true
            }
        )
        #expect(bench.open() == ["read journal"])
        #expect(bench.words(bench.machine.journalRead(.success(nil))) == ["POST /f 0..<0"])
        #expect(bench.respond(201, ["Location": "/r/1"]) == ["write journal 1"])
        #expect(bench.words(bench.machine.journalWritten(2, error: nil)) == [])
        // A journal that cannot be written costs the resumption after a crash, not the upload.
        let actions = bench.machine.journalWritten(1, error: StorageError(.noSpace, "full"))
        #expect(bench.words(actions) == ["PATCH /r/1 \(self.whole)"] && actions.count == 2)
        bench.send()
        #expect(bench.respond(204, ["Upload-Offset": "\(Bench.length)"]) == ["report 204", "check"])
        #expect(bench.check() == ["remove journal", "release host", "finished"])
    }

    @Test("an interim response's resource is written while the request continues")
    func interim() throws {
        var bench = Bench(
            try self.plan { plan in
                plan.way = .by(.ietf6)
                plan.hasJournal = true
                plan.method = "POST"
            }
        )
        _ = bench.open()
        _ = bench.words(bench.machine.journalRead(.success(nil)))
        bench.connect()
        let fields: HeaderFields = ["Location": "http://host/r/9"]
        #expect(bench.words(bench.machine.interimReceived(104, fields, on: 1)) == ["write journal 1"])
        #expect(bench.words(bench.machine.journalWritten(1, error: nil)) == [])
        // Its protocol can find out what the server has of the POST.
        #expect(bench.fail() == ["release host", "retry"])
        #expect(bench.machine.history.record?.resource == "http://host/r/9")
        var next = Bench(bench.machine.plan, history: bench.machine.history)
        #expect(next.open() == ["HEAD /r/9"])
    }

    @Test("a record is resumed from the journal, before the caller's, and the server's offset continued")
    func resumes() throws {
        for isJournal in [true, false] {
            var other = self.record()
            other.resource = "http://host/r/2"
            var bench = Bench(
                try self.plan { plan in
                    plan.way = .by(.tus)
                    plan.hasJournal = true
                    plan.record = other
                }
            )
            _ = bench.open()
            let actions = bench.words(bench.machine.journalRead(.success(isJournal ? self.record() : nil)))
            #expect(actions == [isJournal ? "HEAD /r/1" : "HEAD /r/2"])
            let range = "1000..<\(Bench.length)"
            #expect(
                bench.respond(200, ["Upload-Offset": "1000"]) == ["PATCH /r/\(isJournal ? 1 : 2) \(range)"]
            )
            #expect(bench.machine.kept == 1000 && bench.machine.hasAdvanced && bench.machine.position == 1000)
        }
    }

    @Test("an unreadable journal, a void record, and one of another endpoint start a new upload")
    func unusable() throws {
        var void = self.record()
        void.resource = ""
        let results: [Result<UploadRecord?, StorageError>] = [
            .failure(StorageError(.inputOutput, "bad")), .success(void), .success(self.record(endpoint: "http://o/f")),
        ]
        for result in results {
            var bench = Bench(
                try self.plan { plan in
                    plan.way = .by(.tus)
                    plan.hasJournal = true
                }
            )
            _ = bench.open()
            #expect(bench.words(bench.machine.journalRead(result)) == ["POST /f 0..<0"])
        }
    }

    @Test("a record of an earlier version gets its change times")
    func earlierVersion() throws {
        var file = Bench.file
        file.changed = nil
        var bench = Bench(
            try self.plan { plan in
                plan.way = .by(.tus)
                plan.hasJournal = true
            }
        )
        _ = bench.open()
        #expect(bench.words(bench.machine.journalRead(.success(self.record(file)))) == ["write journal", "HEAD /r/1"])
        #expect(bench.machine.history.record?.files == [Bench.file])
    }

    @Test("a lost resource restarts the upload; its record is kept until there is another")
    func lost() throws {
        var history = UploadHistory()
        history.record = self.record()
        var bench = Bench(try self.plan { $0.way = .by(.tus) }, history: history)
        #expect(bench.open() == ["HEAD /r/1"])
        #expect(bench.respond(404) == ["POST /f 0..<0"])
        #expect(bench.machine.history.lost == self.record() && bench.machine.history.record == nil)
        #expect(bench.respond(403) == ["release host", "check"])
        #expect(bench.check() == ["failed"] && bench.machine.history.lost == self.record())
        var next = Bench(bench.machine.plan, history: bench.machine.history)
        #expect(next.open() == ["HEAD /r/1"])
        #expect(next.respond(404) == ["POST /f 0..<0"])
        #expect(next.respond(201, ["Location": "/r/2"]) == ["PATCH /r/2 \(self.whole)"])
        #expect(next.machine.history.lost == nil)
    }

    @Test("each part has its checksum, once that is computed")
    func checksums() throws {
        var bench = Bench(
            try self.plan { plan in
                plan.way = .by(.tus)
                plan.checksum = .sha256
            }
        )
        #expect(bench.open() == ["OPTIONS /f"])
        let fields: HeaderFields = [
            "Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Extension": "creation,checksum",
            "Tus-Checksum-Algorithm": "sha256",
        ]
        #expect(bench.respond(204, fields) == ["POST /f 0..<0"])
        #expect(bench.respond(201, ["Location": "/r/1"]) == ["digest sha256 \(self.whole)"])
        guard case .send(let request) = bench.machine.digestComputed(.success([1, 2])).first else {
            throw SyntaxError("nothing sent")
        }
        #expect(request.checksum == "sha256 AQI=")
        var unread = try self.patching()
        _ = unread.words(unread.machine.failed(self.change))
        #expect(unread.words(unread.machine.digestComputed(.success([1]))) == [])
    }

    @Test("bytes that the server newly acknowledges are progress, the same number again is not")
    func acknowledged() throws {
        var history = UploadHistory()
        for (offset, isNew) in [("1000", true), ("1000", false), ("1001", true)] {
            history.record = self.record()
            var bench = Bench(try self.plan { $0.way = .by(.tus) }, history: history)
            _ = bench.open()
            _ = bench.respond(200, ["Upload-Offset": offset])
            #expect(bench.machine.hasAdvanced == isNew && bench.machine.kept == Int64(offset))
            _ = bench.fail()
            history = bench.machine.history
        }
    }

    // MARK: Changed content

    @Test("content that changed between runs is not resumed: what the server has is deleted")
    func changedBetween() throws {
        for (given, journal) in [(false, "remove journal"), (true, "void journal")] {
            var history = UploadHistory()
            history.record = self.record()
            history.hasReadJournal = true
            var bench = Bench(
                try self.plan { plan in
                    plan.way = .by(.tus)
                    plan.hasJournal = true
                    plan.record = given ? self.record() : nil
                },
                history: history
            )
            let actions = bench.open(file: self.changedFile)
            #expect(actions == ["terminate http://host/r/1", journal, "release host", "failed"])
            #expect(bench.machine.history.record == nil && bench.failure?.code == .fileIO)
        }
        // Without a record, the first run sent the file as it was.
        var first = Bench(try self.plan())
        _ = first.open()
        _ = first.fail()
        var second = Bench(try self.plan(), history: first.machine.history)
        #expect(second.open(file: self.changedFile) == ["release host", "failed"])
    }

    @Test("content that changes during the run fails the upload, and what the server has is deleted")
    func changedDuring() throws {
        for event in 0..<4 {
            var bench = try self.patching { $0.hasJournal = true }
            var actions: [String]
            switch event {
            case 0:
                bench.send(100)
                actions = bench.fail(.content, content: self.change)
            case 1: actions = bench.tick(1, .changed(self.change)).filter { !$0.hasPrefix("progress") }
            case 2: actions = bench.tick(1, .unreadable(self.change)).filter { !$0.hasPrefix("progress") }
            default:
                bench.send()
                actions = bench.respond(204, ["Upload-Offset": "\(Bench.length)"])
            }
            actions += bench.check(event == 2 ? .unreadable(self.change) : .changed(self.change))
            let deletes = ["terminate http://host/r/1", "remove journal"]
            #expect(actions.contains(deletes[0]) == (event != 2) && actions.last == "failed", "\(event)")
            #expect(actions.contains(deletes[1]) == (event != 2))
            #expect(actions.filter { $0 == "release host" } == ["release host"])
        }
    }

    // MARK: Time

    @Test("progress is reported when it has changed, with the bytes of earlier runs")
    func progress() throws {
        var history = UploadHistory()
        history.sent = 50
        var bench = Bench(try self.plan(), history: history)
        _ = bench.open()
        #expect(bench.tick(1) == ["progress 0"] && bench.tick(2) == [])
        bench.send(100)
        guard case .reportProgress(let progress) = bench.machine.ticked(3, reports: true, content: .unchanged).first
        else { throw SyntaxError("no progress") }
        #expect(progress.bytes == 100 && progress.sent == 150 && progress.total == Bench.length)
        #expect(progress.acknowledged == nil)
        bench.send(1)
        #expect(bench.machine.ticked(4, reports: false, content: .unchanged).isEmpty)
    }

    @Test("a stall ends the request, unless it connects, the content is held, or the policy decides")
    func stalls() throws {
        let timeout: Int64 = 10
        for state in 0..<6 {
            var bench = Bench(
                try self.plan { plan in
                    plan.requests.stallTimeout = timeout
                    plan.requests.hasPolicy = true
                }
            )
            _ = bench.open()
            switch state {
            case 0: break
            case 1:
                bench.connect()
                bench.machine.contentHeld(true, of: 1, now: 0)
            case 2:
                bench.send()
                _ = bench.head(200)
            case 3: bench.connect()
            case 4: bench.send()
            default:
                bench.send()
                _ = bench.head(400, framing: .chunked)
            }
            let early = bench.tick(timeout)
            #expect(early.allSatisfy { $0.hasPrefix("progress") })
            let late = bench.tick(timeout + 2)
            guard state >= 3 else {
                #expect(late == [])
                continue
            }
            #expect(late == ["cancel 1", "release host", "retry"], "\(state)")
            let words = ["no data could be sent", "no response arrived", "no data arrived"]
            #expect(bench.failure?.message.hasPrefix(words[state - 3]) == true)
        }
    }

    @Test("interim responses do not extend the time for the final one")
    func interimStalls() throws {
        var bench = Bench(try self.plan { $0.requests.stallTimeout = 10 })
        _ = bench.open()
        bench.send()
        var words: [String] = []
        for now in Int64(1)...11 {
            _ = bench.machine.interimReceived(102, [:], on: 1)
            words = bench.tick(now)
        }
        #expect(words == ["cancel 1", "release host", "retry"])
        #expect(bench.failure?.message.hasPrefix("no response arrived") == true)
    }

    @Test("content that is sent too slowly ends the upload, if the server would continue it")
    func floor() throws {
        let floor = try #require(SpeedFloor(rate: 100, window: 10_000_000_000))
        let second: Int64 = 1_000_000_000
        for (isResumable, isHeld) in [(true, false), (true, true), (false, false)] {
            var bench = Bench(
                try self.plan { plan in
                    plan.way = isResumable ? .by(.tus) : .plain
                    if isResumable { plan.record = self.record() }
                }
            )
            _ = bench.open()
            if isResumable { _ = bench.respond(200, ["Tus-Resumable": "1.0.0", "Upload-Offset": "0"]) }
            let id = bench.machine.requestID
            bench.connect()
            var words: [String] = []
            for now in Int64(1)...25 {
                bench.machine.contentSent(10, of: id, now: now * second)
                if isHeld {
                    // The rate limit, or the source, holds it back.
                    bench.machine.contentHeld(true, of: id, now: now * second)
                    bench.machine.contentHeld(false, of: id, now: now * second)
                }
                words = bench.tick(now * second, floor: floor)
                if words.contains("check") { words = bench.check() }
                if words.contains("failed") { break }
            }
            #expect(words.contains("failed") == (isResumable && !isHeld), "\(isResumable) \(isHeld) \(words)")
            #expect(bench.failure?.code == (isResumable && !isHeld ? .tooSlow : nil))
        }
    }

    @Test("the time of all runs together is limited")
    func total() throws {
        let plan = try self.plan { $0.requests.totalTimeout = 100 }
        var bench = Bench(plan, time: 60)
        _ = bench.open()
        #expect(bench.tick(40) == ["progress 0"])
        #expect(bench.tick(41) == ["cancel 1", "release host", "failed"] && bench.failure?.code == .timeout)
    }

    // MARK: Interruptions

    @Test("an interruption ends the run in every phase; cancelled, the resource is deleted; kept, it is not")
    func interruptions() throws {
        let reasons: [(UploadMachine.Interruption, [String])] = [
            (.paused, ["paused"]), (.stopped, ["stopped"]), (.cancelled(keeping: true), ["kept"]),
            (.cancelled(keeping: false), ["terminate http://host/r/1", "remove journal", "cancelled"]),
        ]
        for (reason, end) in reasons {
            var bench = try self.patching { $0.hasJournal = true }
            #expect(bench.words(bench.machine.interrupted(by: reason)) == ["cancel 2", "release host"] + end)
            #expect(bench.words(bench.machine.interrupted(by: .paused)) == [])
        }
        // The journal was not read yet: it may know a resource.
        var bench = Bench(
            try self.plan { plan in
                plan.way = .by(.tus)
                plan.hasJournal = true
            }
        )
        _ = bench.open()
        let actions = bench.words(bench.machine.interrupted(by: .cancelled(keeping: false)))
        #expect(actions == ["release host", "give up", "cancelled"])
        #expect(bench.words(bench.machine.journalRead(.success(self.record()))) == [])
        // Not begun.
        var idle = Bench(try self.plan())
        #expect(idle.words(idle.machine.interrupted(by: .paused)) == ["release host", "paused"])
        #expect(idle.words(idle.machine.began()) == [])
    }

    @Test("a POST that was interrupted after all its content was sent is not sent again (RFC 9110 §9.2.2)")
    func interruptedPost() throws {
        for (method, count, status, isRepeated) in [
            ("POST", Bench.length, nil, false), ("POST", Bench.length, 200, false), ("POST", Bench.length, 503, true),
            ("POST", 100, nil, true), ("PUT", Bench.length, nil, true),
        ] as [(String, Int64, Int?, Bool)] {
            for reason in [UploadMachine.Interruption.paused, .stopped] {
                var bench = Bench(try self.plan { $0.method = method })
                _ = bench.open()
                bench.send(count)
                if let status { _ = bench.head(status, framing: .chunked) }
                _ = bench.words(bench.machine.interrupted(by: reason))
                var next = Bench(bench.machine.plan, history: bench.machine.history)
                #expect(next.open() == (isRepeated ? ["\(method) /f \(self.whole)"] : ["release host", "failed"]))
            }
        }
    }

    @Test("an upload that cannot be resumed notes so when it is paused")
    func pauseNote() throws {
        for count in [0, 100] as [Int64] {
            var bench = Bench(try self.plan())
            _ = bench.open()
            if count > 0 { bench.send(count) }
            let actions = bench.machine.interrupted(by: .paused)
            let notes = actions.filter { if case .note = $0 { true } else { false } }
            #expect(notes.count == (count > 0 ? 1 : 0))
        }
    }

    @Test("events of a request that is over, and of a run that has ended, are ignored")
    func lateEvents() throws {
        var bench = try self.patching()
        bench.connect()
        let head = ResponseHead(status: 500, fields: [:], framing: .none)
        for _ in 0..<2 {
            #expect(bench.words(bench.machine.headReceived(head, on: 1, now: 0, wallNow: 0)) == [])
            #expect(bench.words(bench.machine.responseEnded(1)) == [])
            let error = TransportError(.reset, "late")
            #expect(bench.words(bench.machine.requestFailed(1, error, content: nil)) == [])
            #expect(bench.words(bench.machine.policyDecided(.cancel, on: 1, now: 0)) == [])
            #expect(bench.machine.reading(1) == .close)
            bench.machine.contentHeld(true, of: 1, now: 0)
            #expect(!bench.machine.traffic.isHeld)
            // Bytes that were sent are counted, whatever became of them.
            bench.machine.contentSent(5, of: 1, now: 0)
            _ = bench.words(bench.machine.interrupted(by: .stopped))
        }
        #expect(bench.machine.sent == 10 && bench.machine.position == 0)
        #expect(bench.tick(99) == [] && bench.check() == [] && bench.endings.count == 1)
        #expect(bench.words(bench.machine.journalWritten(1, error: StorageError(.noSpace, "full"))) == [])
    }
}

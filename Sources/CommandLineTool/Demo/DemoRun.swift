// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform

/// One run of `martlet demo`.
struct DemoRun {
    private let stage: DemoStage
    private let plan: DemoPlan
    /// The URL of the server, with a slash at its end.
    private let server: String

    /// The exit status if a step did not hold, or could not be performed.
    private static let failed: Int32 = 1

    /// The file with the server's output.
    private static let serverLog = "serve.log"

    /// The name of the server's access log.
    private static let accessLog = "access.log"

    /// Runs the demo on the current thread.
    ///
    /// - Returns: The exit status: 0 only if every step held.
    static func execute(_ plan: DemoPlan) -> Int32 {
        let errors = OutputStream(STDERR_FILENO)
        let stage: DemoStage
        do {
            stage = try DemoStage(limit: plan.limit)
        } catch {
            errors.write("martlet: \(error)\n")
            return Self.failed
        }
        let start = ContinuousClock.now
        let end: End
        do {
            try self.perform(plan, on: stage)
            end = End(status: ExitStatus.success, output: DemoScript.success(after: ContinuousClock.now - start))
        } catch {
            end = self.end(error, stage)
        }
        stage.close()
        if let line = end.output { stage.say("", line) }
        if let line = end.error { errors.write("martlet: \(line)\n") }
        if end.status == ExitStatus.success { stage.say(DemoScript.more) }
        return end.status
    }

    private struct End {
        var status: Int32
        /// The line for standard output.
        var output: String?
        /// The message for standard error.
        var error: String?
    }

    /// Performs all steps.
    private static func perform(_ plan: DemoPlan, on stage: DemoStage) throws {
        stage.say(DemoScript.title)
        let run = try DemoRun(stage, plan)
        for step in DemoScript.steps {
            stage.say("", step.heading)
            let verdict = try run.perform(step)
            for line in verdict.lines { stage.say("   " + line) }
            if let failure = verdict.failure { throw DemoStage.Interruption.notHeld(failure) }
            stage.say("   held: \(verdict.claim)")
        }
    }

    private static func end(_ error: any Error, _ stage: DemoStage) -> End {
        switch error {
        case DemoStage.Interruption.notHeld(let failure):
            stage.say("   NOT HELD: expected \(failure.expected)", "             seen     \(failure.seen)")
            return End(status: self.failed, output: DemoScript.failure)
        case DemoStage.Interruption.signal:
            return End(status: ExitStatus.interrupted, error: "the demo was interrupted; its directory is removed")
        case DemoStage.Interruption.brokenOutput(let number):
            return End(status: ExitStatus.fileIO, error: DemoText.brokenOutput(number))
        case DemoStage.Interruption.serverEnded(let end):
            return self.end(self.failure("martlet serve", end, self.serverLog, stage), stage)
        case DemoStage.Interruption.timeout(let what, let log):
            let reason = log.flatMap { stage.reason(in: $0) }.map { "; the last message: \($0)" } ?? ""
            return End(status: self.failed, error: "the demo waited for \(what)\(reason)")
        default: return End(status: self.failed, error: "\(error)")
        }
    }

    /// Starts the server.
    private init(_ stage: DemoStage, _ plan: DemoPlan) throws {
        self.stage = stage
        self.plan = plan
        try stage.directory.requireSpace(plan.space)
        for name in ["www", "files"] { try stage.directory.make(name) }
        let words = ["serve", "www", "--read-only", "--listen", "127.0.0.1:0", "--access-log", Self.accessLog]
        let process = try stage.start(words, log: Self.serverLog)
        stage.server = process
        self.server = try stage.wait(for: "the server's address") {
            DemoScript.address(in: stage.directory.text(Self.serverLog))
        }
        stage.say("server: martlet serve, at \(self.server)")
    }

    private func perform(_ step: DemoScript.Step) throws -> DemoVerdict {
        for attempt in 0..<DemoPlan.attempts {
            do {
                switch step {
                case .resumption: return try self.resume(attempt)
                case .replacement: return try self.replace(attempt)
                case .list: return try self.list(attempt)
                }
            } catch DemoStage.Interruption.tooLate(let reason) {
                self.stage.say("   \(reason): again, at half the rate")
            }
        }
        throw SyntaxError("this machine is too busy to show this step: \(DemoPlan.attempts) attempts failed")
    }

    // MARK: A large file

    private var partial: String { DemoPlan.large + ".part" }

    /// Downloads a part of the large file, and kills the download.
    ///
    /// - Returns: The download's command, and the number of bytes received.
    private func interrupt(_ attempt: Int) throws -> (command: [String], received: Int64) {
        let directory = self.stage.directory
        for name in [DemoPlan.large, self.partial, self.partial + ".journal"] { directory.remove(name) }
        let rate = DemoPlan.rate(self.plan.rate, attempt: attempt)
        let command = DemoPlan.get(self.server + DemoPlan.large, rate: rate)
        self.stage.say("   $ martlet " + command.joined(separator: " "))
        let process = try self.stage.start(command, log: "get.log", isShown: true)
        let mark = DemoPlan.mark(of: self.plan.size)
        try self.stage.wait(for: "\(Quantity.bytes(mark)) of \(DemoPlan.large)", log: "get.log") {
            if let end = process.end, end != .exited(0) { throw self.failure("martlet get", end, "get.log") }
            return process.end != nil || (directory.size(self.partial) ?? 0) >= mark ? () : nil
        }
        let end = try self.stage.kill(process, "martlet get")
        guard end == .signalled(SIGKILL), let received = directory.size(self.partial) else {
            throw DemoStage.Interruption.tooLate("the download ended before the kill")
        }
        self.stage.say("   kill -9, after \(Quantity.bytes(received)) of \(Quantity.bytes(self.plan.size))")
        return (command, received)
    }

    /// Runs the download again, to its end.
    private func again(_ command: [String]) throws -> ChildProcess.End {
        self.stage.say("   $ the same command again")
        let process = try self.stage.start(command, log: "get.log", isShown: true)
        let end = try self.stage.end(of: process, "martlet get", log: "get.log")
        guard end == .exited(0) else { throw self.failure("martlet get", end, "get.log") }
        return end
    }

    private func resume(_ attempt: Int) throws -> DemoVerdict {
        let served = try self.serve(DemoPlan.large, self.plan.size)
        let before = self.logged
        let (command, received) = try self.interrupt(attempt)
        // Its request is logged first, so that the second one is recognized.
        try self.waitForRequests([DemoPlan.large], after: before) { _ in true }
        let start = self.logged
        var resumption = DemoResumption(
            size: self.plan.size,
            received: received,
            end: try self.again(command),
            requests: [],
            served: served,
            downloaded: self.stage.directory.digest(DemoPlan.large),
            isBootKnown: DemoStage.isBootKnown
        )
        resumption.requests = try self.waitForRequests([DemoPlan.large], after: start) {
            $0.status == 206 || $0.bytes != nil
        }
        if resumption.isUnmeasured { throw DemoStage.Interruption.tooLate("the server could not measure the response") }
        return resumption.verdict
    }

    private func replace(_ attempt: Int) throws -> DemoVerdict {
        let first = try self.serve(DemoPlan.large, self.plan.size)
        let (command, received) = try self.interrupt(attempt)
        let second = try self.serve(DemoPlan.large, self.plan.size)
        self.stage.say("   the file on the server is replaced by another one of the same size")
        return DemoReplacement(
            received: received,
            end: try self.again(command),
            first: first,
            second: second,
            downloaded: self.stage.directory.digest(DemoPlan.large)
        )
        .verdict
    }

    // MARK: A list

    private func list(_ attempt: Int) throws -> DemoVerdict {
        let directory = self.stage.directory
        self.removeDownloads()
        let served = try DemoPlan.names.map { try self.serve($0, self.plan.listedSize) }
        try directory.write(DemoPlan.names.map { self.server + $0 + "\n" }.joined(), to: "list.txt")
        let daemon = try self.startDaemon()
        let before = self.logged
        let rate = DemoPlan.rate(self.plan.listedRate, attempt: attempt)
        try self.complete(DemoPlan.add("list.txt", rate: rate))
        let watcher = try self.startWaiting()
        let mark = DemoPlan.mark(of: self.plan.listSize)
        try self.stage.wait(for: "\(Quantity.bytes(mark)) of the list", log: "daemon.log") {
            if let end = daemon.end { throw self.failure("martlet daemon", end, "daemon.log") }
            let sizes = DemoPlan.names.map { self.received($0) ?? directory.size("files/" + $0) ?? 0 }
            return sizes.reduce(0, +) >= mark ? () : nil
        }
        _ = try self.stage.kill(watcher, "martlet wait")
        daemon.signal(SIGKILL)
        guard try self.stage.end(of: daemon, "martlet daemon") == .signalled(SIGKILL) else {
            throw self.failure("martlet daemon", daemon.end, "daemon.log")
        }
        let received = DemoPlan.names.map { self.received($0) ?? 0 }
        guard received.contains(where: { $0 > 0 }) else {
            throw DemoStage.Interruption.tooLate("the list ended before the kill")
        }
        let sum = Quantity.bytes(received.reduce(0, +))
        self.stage.say("   kill -9 of the daemon, after \(sum) of \(Quantity.bytes(self.plan.listSize))")
        let names = DemoPlan.names
        let interrupted = names.indices.filter { received[$0] > 0 }.map { names[$0] }
        try self.waitForRequests(interrupted, after: before) { _ in true }
        let start = self.logged
        let restarted = try self.startDaemon()
        let end = try self.stage.end(of: try self.startWaiting(), "martlet wait", log: "wait.log")
        guard end == .exited(0) else { throw self.failure("martlet wait", end, "wait.log") }
        restarted.signal(SIGTERM)
        _ = try self.stage.end(of: restarted, "martlet daemon", log: "daemon.log")
        let requests = try self.waitForRequests(interrupted, after: start) { $0.status == 206 || $0.bytes != nil }
        let entries = names.indices.map { index in
            DemoListing.Entry(
                name: names[index],
                size: self.plan.listedSize,
                received: received[index],
                served: served[index],
                downloaded: directory.digest("files/" + names[index])
            )
        }
        return DemoListing(entries: entries, end: end, requests: requests, isBootKnown: DemoStage.isBootKnown).verdict
    }

    /// The size of a listed file's partial file; `nil` without one.
    private func received(_ name: String) -> Int64? { self.stage.directory.size("files/\(name).part") }

    private func removeDownloads() {
        for name in DemoPlan.names {
            for suffix in ["", ".part", ".part.journal"] { self.stage.directory.remove("files/" + name + suffix) }
        }
    }

    /// Starts a daemon, and waits until it responds.
    private func startDaemon() throws -> DemoProcess {
        self.stage.say("   $ martlet daemon --dir files &")
        let process = try self.stage.start(["daemon", "--dir", "files"], log: "daemon.log")
        let client = ControlClient(try StateDirectory(self.stage.directory.path("state")))
        defer { client.close() }
        try self.stage.wait(for: "the daemon's first response", log: "daemon.log") {
            if let end = process.end { throw self.failure("martlet daemon", end, "daemon.log") }
            return QueueRun.wait { (try? await client.daemon()) == nil ? 1 : 0 } == 0 ? () : nil
        }
        return process
    }

    /// Starts `martlet wait`, which shows the progress of the daemon's transfers on a terminal.
    private func startWaiting() throws -> DemoProcess {
        self.stage.say("   $ martlet wait --all")
        return try self.stage.start(["wait", "--all"], log: "wait.log", isShown: true)
    }

    /// Runs a command to its end.
    private func complete(_ words: [String]) throws {
        self.stage.say("   $ martlet " + words.joined(separator: " "))
        let name = "martlet \(words[0])"
        let end = try self.stage.end(of: try self.stage.start(words, log: "command.log"), name, log: "command.log")
        guard end == .exited(0) else { throw self.failure(name, end, "command.log") }
    }

    // MARK: The server

    /// Writes a file for the server, and returns its SHA-256.
    private func serve(_ name: String, _ size: Int64) throws -> String {
        try self.stage.directory.writeRandom("www/" + name, size: size) { try self.stage.check() }
    }

    /// The number of bytes of the server's log, all of complete lines.
    private var logged: Int { DemoRequest.complete(self.stage.directory.text(Self.accessLog)).utf8.count }

    /// Waits until the server has logged a request for each of the files; it writes its log a few times per second.
    ///
    /// - Parameters:
    ///   - names: The files.
    ///   - count: The number of bytes of the log to leave out.
    ///   - isWanted: Whether a request is one of those waited for.
    /// - Returns: All requests logged.
    /// - Throws: ``DemoStage/Interruption``.
    @discardableResult
    private func waitForRequests(
        _ names: [String],
        after count: Int,
        _ isWanted: (DemoRequest) -> Bool
    ) throws -> [DemoRequest] {
        try self.stage.wait(for: "the requests in the server's log", log: Self.serverLog) {
            let log = self.stage.directory.text(Self.accessLog).utf8.dropFirst(count)
            let requests = DemoRequest.parse(String(decoding: Array(log), as: UTF8.self))
            let isComplete = names.allSatisfy { name in requests.contains { $0.path == "/" + name && isWanted($0) } }
            return isComplete ? requests : nil
        }
    }

    private func failure(_ name: String, _ end: ChildProcess.End?, _ log: String) -> SyntaxError {
        Self.failure(name, end ?? .exited(127), log, self.stage)
    }

    private static func failure(_ name: String, _ end: ChildProcess.End, _ log: String, _ stage: DemoStage)
        -> SyntaxError
    {
        SyntaxError(DemoText.ended(name, end, reason: stage.reason(in: log), isProcMounted: DemoStage.isBootKnown))
    }
}

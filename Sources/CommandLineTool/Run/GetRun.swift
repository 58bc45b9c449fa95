// SPDX-License-Identifier: Apache-2.0
import Datasets
import Platform
import Synchronization
import TransferCore
import TransferEngine

/// One run of `martlet get`: connects the engine, the feeder, the signals and the output.
enum GetRun {
    /// Runs a plan to its end on the current thread.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - feed: Adds the transfers to the engine; runs on a separate thread.
    /// - Returns: The exit status.
    static func execute(
        _ plan: GetPlan,
        feeding feed: @escaping @Sendable (Feeder, GetPlan) -> Void = { $0.feed($1) }
    ) -> Int32 {
        do {
            // Opening a named pipe blocks until it has a reader; signals still have their default effect here.
            let sink = try self.sink(of: plan)
            // Before the signals are handled: a question has to end with Ctrl-C.
            let access = try RunAccess(plan.access)
            let failure = DatasetFailure()
            let dataset = try plan.dataset.map { (order) throws(DatasetError) in
                try DatasetRun(order) { failure.report($0) }
            }
            let signals = SignalWatcher()
            let limit = DescriptorLimits.raise()
            let wakeUp = try WakeUp()
            let reporter = RunReporter(plan)
            let mailbox = EventMailbox(
                asciiOnly: !Terminal.isUnicode,
                wantsProgress: plan.display == .json,
                wantsDetails: plan.display == .json || plan.verbose,
                wantsSuccesses: plan.display != .quiet && !plan.isReported,
                wantsFailures: plan.display == .json || plan.verbose || !plan.isReported,
                wake: { wakeUp.wake() }
            )
            for warning in access.warnings + [dataset?.warning].compactMap(\.self) { mailbox.take(warning: warning) }
            var plan = plan
            access.apply(to: &plan.options)
            let jobs = OpenFiles.jobs(within: limit, connectionsPerFile: plan.connectionsPerFile)
            if jobs < plan.jobs {
                mailbox.take(
                    warning: "the limit of open files (\(limit)) allows \(jobs) concurrent files; raise it (ulimit -n)"
                )
                plan.jobs = jobs
            }
            let engine = try EngineAssembly.make(plan, identity: access.identity)
            let checksums = try plan.checksums.map { (_) throws(SyntaxError) in try ChecksumsFetch() }
            let interest = self.interest(of: plan, reporter)
            if let checksums {
                engine.observe(interest) { event in if !checksums.take(event) { mailbox.take(event) } }
            } else {
                engine.observe(interest) { event in
                    dataset?.take(event)
                    mailbox.take(event)
                }
            }
            var options = plan.options
            if let sink { options.destination = .stream(sink) }
            let refresher = plan.refreshCommand.map { RefreshCommand($0) }
            options.refresher = refresher
            let run = RunControl(
                engine: engine,
                feeder: Feeder(
                    engine: engine,
                    mailbox: mailbox,
                    options: options,
                    dataset: dataset,
                    checksums: checksums,
                    onlyExamines: plan.onlyExamines
                ),
                wakeUp: wakeUp,
                refresher: refresher
            )
            // A failure of this machine does not fail rows: the next run fetches the unreported rows.
            failure.onFailure { run.stop(interrupted: false) }
            try signals.start(
                stop: {
                    reporter.hurry()
                    run.stop(interrupted: true)
                },
                resized: { wakeUp.wake() }
            )
            engine.start()
            try run.start { [plan] in feed(run.feeder, plan) }
            guard let dataset else {
                let status = self.show(run, mailbox, reporter, afterStop: plan.afterStop) { summary, _ in
                    if checksums != nil { summary.verified = mailbox.model.verified }
                }
                return self.finish(access, status)
            }
            let status = self.show(run, mailbox, reporter, dataset, afterStop: plan.afterStop) { summary, status in
                let end = DatasetEnd(dataset, failure)
                summary.tableLines = end.lines
                // The lines of the summary are not printed then.
                if plan.display == .quiet, let error = end.error {
                    OutputStream(STDERR_FILENO).write("martlet: \(DisplayText.clean(error.message))\n")
                }
                status = end.status(interrupted: run.isInterrupted)
            }
            return self.finish(access, status)
        } catch is CancellationError {
            return ExitStatus.interrupted
        } catch let error as DatasetError {
            OutputStream(STDERR_FILENO).write("martlet: \(DisplayText.clean(error.description))\n")
            if case .busy = error { return ExitStatus.reportIsBusy }
            return ExitStatus.usage
        } catch let error as SyntaxError {
            OutputStream(STDERR_FILENO).write("martlet: \(error.description)\n")
            return ExitStatus.usage
        } catch {
            OutputStream(STDERR_FILENO).write("martlet: \(DisplayText.clean("\(error)"))\n")
            return ExitStatus.usage
        }
    }

    /// Stores the cookies after a run.
    ///
    /// - Returns: The exit status.
    private static func finish(_ access: RunAccess, _ status: Int32) -> Int32 {
        guard let problem = access.saveCookies() else { return status }
        OutputStream(STDERR_FILENO).write("martlet: \(DisplayText.clean(problem))\n")
        return status == ExitStatus.success ? ExitStatus.fileIO : status
    }

    private static func sink(of plan: GetPlan) throws(SyntaxError) -> (any ByteSink)? {
        if let device = plan.device { return try DescriptorSink(opening: device) }
        return plan.toStandardOutput ? DescriptorSink() : nil
    }

    /// The events that the output needs: with many small files, delivering events is a large part of the work.
    private static func interest(of plan: GetPlan, _ reporter: RunReporter) -> TransferEvent.Interest {
        if let printer = plan.printer { return printer.wantsProgress ? .all : [.states, .responses] }
        if reporter.isLive || plan.verbose || plan.display == .json { return .all }
        if plan.isReported { return DatasetRun.interest }
        if plan.display == .quiet { return .states }
        return reporter.showsProgress ? [.states, .responses, .progress] : [.states, .responses]
    }

    private static func show(
        _ run: RunControl,
        _ mailbox: EventMailbox,
        _ reporter: RunReporter,
        _ dataset: DatasetRun? = nil,
        afterStop: String,
        ending: (inout Summary, inout Int32) -> Void = { _, _ in }
    ) -> Int32 {
        let clock = ContinuousClock()
        let start = clock.now
        var rate = RateWindow(span: 5_000_000_000)
        var rowRate = RateWindow(span: 5_000_000_000)
        var isTold = false
        var received: Int64 = 0
        while true {
            let ended = run.hasEnded
            let counts = run.engine.counts
            let batch = mailbox.drain()
            // The engine counts a file's bytes when it ends; the model also counts those of running files.
            received = max(received, counts.receivedBytes + counts.sentBytes, batch.model.receivedBytes)
            let elapsed = Quantity.seconds(clock.now - start)
            rate.record(received, at: Int64(elapsed * 1e9))
            let rows = dataset.map { dataset in
                var rows = RowCounts(summary: dataset.summary, received: received, rate: rate.rate)
                rowRate.record(rows.summary.ended, at: Int64(elapsed * 1e9))
                rows.rowRate = rowRate.rate
                rows.isComplete = run.feeder.isComplete
                return rows
            }
            if let rows { reporter.tell(rows, at: elapsed) }
            let totals = ProgressFrame.Totals(
                waiting: counts.waiting - counts.waitingAgain,
                held: counts.held,
                received: received,
                rate: rate.rate,
                complete: run.feeder.isComplete,
                rows: rows
            )
            reporter.show(batch, totals, at: elapsed)
            if reporter.isBroken { run.stop(interrupted: false) }
            if run.isInterrupted, !isTold {
                isTold = true
                reporter.tell("stopping; press Ctrl-C again to exit immediately")
            }
            if ended { break }
            run.wakeUp.wait(milliseconds: 200)
        }
        let model = mailbox.model
        let counts = run.engine.counts
        var summary = Summary(
            finished: model.finished,
            skipped: model.skipped,
            unchanged: model.unchanged,
            failed: model.failed,
            unfinished: counts.waiting + counts.running + counts.paused + counts.retrying + model.cancelled,
            received: max(received, counts.receivedBytes + counts.sentBytes),
            elapsed: clock.now - start,
            failures: model.failures
        )
        var status = ExitStatus.choose(
            interrupted: run.isInterrupted,
            failures: model.failureStatus.status,
            outputBroken: reporter.isBroken,
            unfinished: summary.unfinished
        )
        ending(&summary, &status)
        if let dataset {
            let elapsed = Quantity.seconds(summary.elapsed)
            var rows = RowCounts(summary: dataset.summary, received: summary.received, rate: summary.rate)
            rows.rowRate = elapsed > 0 ? Double(rows.summary.ended) / elapsed : 0
            rows.isComplete = !rows.summary.isTableIncomplete
            reporter.tell(rows, at: elapsed, isLast: true)
        }
        reporter.end(summary, status: status)
        if run.isInterrupted {
            reporter.tell("stopped; \(afterStop)")
        }
        return status
    }
}

/// The state of a run that its threads share.
final class RunControl: Sendable {
    let engine: TransferEngine
    /// The feeder, which adds the requests.
    let feeder: Feeder
    /// Wakes the thread that prints.
    let wakeUp: WakeUp

    private let refresher: RefreshCommand?
    private let stopping = Atomic<Bool>(false)
    private let interrupted = Atomic<Bool>(false)
    private let ended = Atomic<Bool>(false)

    /// Creates the state.
    init(engine: TransferEngine, feeder: Feeder, wakeUp: WakeUp, refresher: RefreshCommand? = nil) {
        self.engine = engine
        self.feeder = feeder
        self.wakeUp = wakeUp
        self.refresher = refresher
    }

    /// Whether all transfers have ended or were stopped.
    var hasEnded: Bool { self.ended.load(ordering: .acquiring) }

    /// Whether a signal stopped the run.
    var isInterrupted: Bool { self.interrupted.load(ordering: .acquiring) }

    /// Starts the feeder on a separate thread.
    func start(_ feed: @escaping @Sendable () -> Void) throws(SyntaxError) {
        try SystemThread.run {
            feed()
            Task {
                await self.engine.waitUntilDrained()
                self.end(unlessStopping: true)
            }
        }
    }

    /// Stops all transfers and keeps the state for resuming.
    func stop(interrupted: Bool) {
        if interrupted { self.interrupted.store(true, ordering: .releasing) }
        guard !self.stopping.exchange(true, ordering: .acquiringAndReleasing) else { return }
        self.feeder.stop()
        // The engine waits for transfers whose refresh command is running.
        self.refresher?.stop()
        self.wakeUp.wake()
        Task {
            await self.engine.stop()
            self.end(unlessStopping: false)
        }
    }

    private func end(unlessStopping: Bool) {
        if unlessStopping, self.stopping.load(ordering: .acquiring) { return }
        self.ended.store(true, ordering: .releasing)
        self.wakeUp.wake()
    }
}

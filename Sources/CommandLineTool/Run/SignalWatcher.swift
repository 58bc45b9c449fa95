// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Platform

/// Handles the signals that stop a run, on a separate thread, so that blocked output cannot delay them.
struct SignalWatcher {
    private var signals: sigset_t

    /// Blocks the signals in this thread and in all threads that it starts.
    ///
    /// - Parameter more: Further signals, for `other` of ``start(stop:resized:other:)``.
    /// - Precondition: No other thread is running.
    init(more: [Int32] = []) {
        signal(SIGPIPE, SIG_IGN)
        // Writes beyond RLIMIT_FSIZE fail with an error that is reported, instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        self.signals = sigset_t()
        sigemptyset(&self.signals)
        // Signals that the parent ignores, as nohup and background jobs do, stay ignored.
        for number in [SIGINT, SIGTERM, SIGHUP] + more where !SignalDisposition.isIgnored(number) {
            sigaddset(&self.signals, number)
        }
        sigaddset(&self.signals, SIGWINCH)
        pthread_sigmask(SIG_BLOCK, &self.signals, nil)
    }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - stop: Called at the first terminating signal; a later one ends the process immediately. Repetitions within
    ///     half a second are ignored, because timeout(1) sends its signal to the process and then to its group.
    ///   - resized: Called when the size of the terminal has changed.
    ///   - other: Called with the number of any of the further signals; returns true if it terminates the run.
    /// - Throws: ``SyntaxError`` if no thread can be created.
    func start(
        stop: @escaping @Sendable () -> Void,
        resized: @escaping @Sendable () -> Void,
        other: @escaping @Sendable (Int32) -> Bool = { _ in true }
    ) throws(SyntaxError) {
        let signals = self.signals
        try SystemThread.run {
            var signals = signals
            var stopped: ContinuousClock.Instant?
            while true {
                var number: Int32 = 0
                guard sigwait(&signals, &number) == 0 else { continue }
                if number == SIGWINCH {
                    resized()
                } else if ![SIGINT, SIGTERM, SIGHUP].contains(number), !other(number) {
                    continue
                } else if let first = stopped {
                    if ContinuousClock.now - first >= .milliseconds(500) { _exit(ExitStatus.interrupted) }
                } else {
                    stopped = .now
                    stop()
                }
            }
        }
    }
}

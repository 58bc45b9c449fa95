#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Takes the signals that end a run, on a thread of its own: they arrive even while output blocks.
struct SignalWatcher {
    private var signals: sigset_t

    /// Blocks the signals in this thread and in every one it starts.
    ///
    /// - Precondition: No other thread runs yet.
    init() {
        signal(SIGPIPE, SIG_IGN)
        // Beyond the limit of a file's size a write shall fail, with an error that is told.
        signal(SIGXFSZ, SIG_IGN)
        self.signals = sigset_t()
        sigemptyset(&self.signals)
        // What the parent ignores, as nohup and a shell's background do, stays ignored.
        for number in [SIGINT, SIGTERM, SIGHUP] where !Self.isIgnored(number) { sigaddset(&self.signals, number) }
        sigaddset(&self.signals, SIGWINCH)
        pthread_sigmask(SIG_BLOCK, &self.signals, nil)
    }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - stop: Called at the first signal that ends the run; at the second the process exits at once.
    ///   - resized: Called when the terminal changed its size.
    /// - Throws: ``BadValue`` where the system gives no thread.
    func start(stop: @escaping @Sendable () -> Void, resized: @escaping @Sendable () -> Void) throws(BadValue) {
        let signals = self.signals
        try PosixThread.start {
            var signals = signals
            var stopping = false
            while true {
                var number: Int32 = 0
                guard sigwait(&signals, &number) == 0 else { continue }
                if number == SIGWINCH {
                    resized()
                } else if stopping {
                    _exit(ExitStatus.interrupted)
                } else {
                    stopping = true
                    stop()
                }
            }
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Glibc)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
        #else
        return unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        #endif
    }
}

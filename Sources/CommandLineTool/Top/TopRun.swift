// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform
import Synchronization

/// One run of `martlet top`: connects the model with the keys, the signals, the daemon and the screen.
final class TopRun: Sendable {
    private struct Inbox {
        var events: [TopEvent] = []
        /// The exit status, after a signal that ends the run.
        var end: Int32?
    }

    /// The signals that are handled in addition to those of every run.
    static let signals = [SIGTSTP, SIGCONT, SIGQUIT]

    private let client: TopClient
    private let interval: Double
    private let terminal = TopTerminal()
    private let inbox = Mutex(Inbox())
    private let wakeUp: WakeUp
    private let features = Mutex<TopFeatures?>(nil)
    private let beginning = ContinuousClock.now

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - client: The daemon's client.
    ///   - interval: The time between two requests, in seconds.
    /// - Throws: ``SyntaxError`` if no descriptor is available.
    init(_ client: TopClient, interval: Double) throws(SyntaxError) {
        self.client = client
        self.interval = interval
        self.wakeUp = try WakeUp()
    }

    /// Shows the screen until the user or a signal ends it.
    ///
    /// - Parameter signals: The watcher of ``signals``.
    /// - Returns: The exit status.
    /// - Throws: `ControlError` without a daemon, ``SyntaxError`` if no thread can be created.
    func run(_ signals: SignalWatcher) async throws -> Int32 {
        try signals.start(
            stop: { self.end(ExitStatus.interrupted) },
            resized: { self.wakeUp.wake() },
            other: { self.handle($0) }
        )
        // Before the screen is shown: without a daemon there is nothing to show.
        let features = try await self.client.features()
        self.features.withLock { $0 = features }
        return await withCheckedContinuation { continuation in
            do throws(SyntaxError) {
                try SystemThread.run { continuation.resume(returning: self.show()) }
            } catch {
                OutputStream(STDERR_FILENO).write("martlet: \(error.description)\n")
                continuation.resume(returning: ExitStatus.usage)
            }
        }
    }

    // MARK: Signals

    private func end(_ status: Int32) {
        guard self.terminal.hasBegun else { _exit(status) }
        self.terminal.close()
        self.inbox.withLock { $0.end = status }
        self.wakeUp.wake()
    }

    /// Handles one of ``signals``; returns whether it ends the run.
    private func handle(_ number: Int32) -> Bool {
        switch number {
        case SIGTSTP:
            self.terminal.leave()
            SignalDisposition.stop()
            // Continued, or not stopped, because no shell would continue the process.
            self.resume()
            return false
        case SIGCONT:
            self.resume()
            return false
        default: return true
        }
    }

    private func resume() {
        guard self.terminal.hasBegun else { return }
        self.terminal.enter()
        self.post(.disturbed)
    }

    // MARK: The loop

    private var time: TopTime {
        var now = timeval()
        gettimeofday(&now, nil)
        return TopTime(
            wall: Double(now.tv_sec) + Double(now.tv_usec) / 1e6,
            steady: Quantity.seconds(ContinuousClock.now - self.beginning)
        )
    }

    private func post(_ event: TopEvent) {
        self.inbox.withLock { $0.events.append(event) }
        self.wakeUp.wake()
    }

    private func show() -> Int32 {
        self.terminal.enter()
        defer { self.terminal.close() }
        var model = TopModel(interval: self.interval, time: self.time)
        var painter = TopPainter(colour: Terminal.allowsColour)
        var parser = TopKeyParser()
        let screen = TopScreen(unicode: Terminal.isUnicode)
        var size = (columns: -1, rows: -1)
        var repaints = true
        var ticked = -Double.infinity
        while true {
            var events: [TopEvent] = []
            let now = self.time
            if now.steady - ticked >= min(1, self.interval) || now.steady < ticked {
                ticked = now.steady
                events.append(.tick(now))
            }
            let newSize = self.terminal.size
            if newSize != size {
                size = newSize
                events.append(.resized(columns: size.columns, rows: size.rows))
            }
            let (received, end) = self.inbox.withLock { inbox in
                defer { inbox.events = [] }
                return (inbox.events, inbox.end)
            }
            if let end { return end }
            let pause = min(1, self.interval) - (now.steady - ticked)
            events += received
            if events.isEmpty {
                guard let keys = self.wait(&parser, seconds: pause) else { return ExitStatus.interrupted }
                events += keys.map { .key($0) }
            }
            for event in events {
                for action in model.handle(event) {
                    switch action {
                    case .quit: return ExitStatus.success
                    case .repaint: repaints = true
                    case .load(let request): self.load(request)
                    case .call(let call): self.call(call)
                    }
                }
            }
            if events.isEmpty, !repaints { continue }
            self.terminal.write(painter.text(for: screen.frame(model), repaints: repaints))
            repaints = false
            if self.terminal.isBroken { return ExitStatus.interrupted }
        }
    }

    /// Waits for keys, for an event, or for the end of the pause.
    ///
    /// - Returns: The keys, or `nil` at the end of the input.
    private func wait(_ parser: inout TopKeyParser, seconds: Double) -> [TopKey]? {
        var ready = [
            pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
            pollfd(fd: self.wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        // The bytes of a key arrive together: what follows Escape after this time is another key.
        let pause = parser.isWaiting ? min(seconds, Self.escapeTime) : seconds
        let milliseconds = Int32((max(0, pause) * 1000).rounded(.up).clamped(to: 0...60_000))
        let found = poll(&ready, nfds_t(ready.count), milliseconds)
        if found == 0, parser.isWaiting { return parser.flush() }
        guard found > 0 else { return [] }
        if ready[1].revents != 0 { self.wakeUp.clear() }
        guard ready[0].revents != 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return [] }
        return count <= 0 ? nil : parser.take(bytes[..<count])
    }

    private static let escapeTime = 0.05

    // MARK: The daemon

    private func load(_ request: TopRequest) {
        Task {
            do throws(ControlError) {
                // After a lost connection, another version of the daemon may be running.
                let known = self.features.withLock { $0 }
                let features: TopFeatures
                if let known { features = known } else { features = try await self.client.features() }
                let snapshot = try await self.client.load(request, features)
                self.features.withLock { $0 = features }
                self.post(.loaded(snapshot))
            } catch {
                self.features.withLock { $0 = nil }
                self.post(.loadFailed(error))
            }
        }
    }

    private func call(_ call: TopCall) {
        Task {
            do throws(ControlError) {
                self.post(.called(.success(try await self.client.perform(call))))
            } catch {
                self.post(.called(.failure(error)))
            }
        }
    }
}

extension Double {
    fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}

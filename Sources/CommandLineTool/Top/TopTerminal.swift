// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization

/// The terminal of `martlet top`: its settings, and what is written to it.
///
/// Thread-safe: the thread of the signals restores the terminal while another one may be drawing.
final class TopTerminal: Sendable {
    private struct State {
        /// The settings to restore while the screen is shown; otherwise `nil`.
        var original: TerminalMode?
        /// Whether the screen has been shown.
        var hasBegun = false
        /// Whether the run is ending, so that the screen is not shown again.
        var isClosed = false
    }

    private let output = OutputStream(STDOUT_FILENO)
    private let state = Mutex(State())

    /// Why `martlet top` cannot run here, or `nil` if it can.
    static var problem: String? {
        self.problem(
            isTerminal: isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1,
            movesCursor: Terminal.isInteractive(STDOUT_FILENO)
        )
    }

    /// Why `martlet top` cannot run on such a terminal, or `nil` if it can.
    static func problem(isTerminal: Bool, movesCursor: Bool) -> String? {
        if isTerminal, movesCursor { return nil }
        let what =
            isTerminal
            ? "this terminal ($TERM) cannot move the cursor" : "standard input and output must be a terminal"
        return what + "; use martlet list, or martlet wait to wait for transfers"
    }

    var size: (columns: Int, rows: Int) { Terminal.size(STDOUT_FILENO) }

    /// Whether the screen has been shown.
    var hasBegun: Bool { self.state.withLock { $0.hasBegun } }

    /// Whether the terminal is gone.
    var isBroken: Bool { self.output.isBroken }

    /// Shows the screen; if it is shown already, sets the mode again.
    func enter() {
        self.state.withLock { state in
            guard !state.isClosed, let mode = state.original ?? TerminalMode(of: STDIN_FILENO) else { return }
            // First, because it stops a background job before that writes to the terminal.
            mode.forKeys.apply(to: STDIN_FILENO)
            if state.original == nil { mode.restoreAfterCrash(STDOUT_FILENO, text: TopPainter.leave) }
            state.original = mode
            state.hasBegun = true
            self.output.write(TopPainter.enter)
        }
    }

    /// Restores the terminal; later texts are dropped until ``enter()``.
    func leave() { self.state.withLock { self.leave(&$0) } }

    /// Restores the terminal at the end of the run, without waiting long for one that does not read.
    func close() {
        self.output.hurry()
        self.state.withLock { state in
            state.isClosed = true
            self.leave(&state)
        }
    }

    /// Writes to the screen, if it is shown.
    func write(_ text: String) {
        guard !text.isEmpty else { return }
        self.state.withLock { if $0.original != nil { self.output.write(text) } }
    }

    private func leave(_ state: inout State) {
        guard let mode = state.original else { return }
        state.original = nil
        self.output.write(TopPainter.leave)
        mode.apply(to: STDIN_FILENO)
    }
}

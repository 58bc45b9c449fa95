// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization

/// The terminal of `martlet top`: its settings, and what is written to it.
///
/// Thread-safe: the thread of the signals restores the terminal while another one may be drawing.
final class TopTerminal: Sendable {
    private let output = OutputStream(STDOUT_FILENO)
    /// The settings to restore while the screen is shown; otherwise `nil`.
    private let original = Mutex<TerminalMode?>(nil)

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

    /// The size in columns and rows.
    var size: (columns: Int, rows: Int) { Terminal.size(STDOUT_FILENO) }

    /// Whether the terminal is gone.
    var isBroken: Bool { self.output.isBroken }

    /// Shows the screen; does nothing but set the mode again if it is shown already.
    func enter() {
        self.original.withLock { original in
            let isShown = original != nil
            guard let mode = original ?? TerminalMode(of: STDIN_FILENO) else { return }
            // First, because it stops a background job before that writes to the terminal.
            mode.forKeys.apply(to: STDIN_FILENO)
            if !isShown {
                mode.restoreAfterCrash(STDOUT_FILENO, text: TopPainter.leave)
                original = mode
            }
            self.output.write(TopPainter.enter)
        }
    }

    /// Restores the terminal; later texts are dropped until ``enter()``.
    func leave() {
        self.original.withLock { original in
            guard let mode = original else { return }
            original = nil
            self.output.write(TopPainter.leave)
            mode.apply(to: STDIN_FILENO)
        }
    }

    /// Restores the terminal at the end of the run, without waiting long for one that does not read.
    func leaveSoon() {
        self.output.hurry()
        self.leave()
    }

    /// Writes to the screen, if it is shown.
    func write(_ text: String) {
        guard !text.isEmpty else { return }
        self.original.withLock { if $0 != nil { self.output.write(text) } }
    }
}

// SPDX-License-Identifier: Apache-2.0
/// The line settings of a terminal (termios(3)).
package struct TerminalMode {
    private var attributes: termios

    /// Reads the settings of a terminal.
    ///
    /// - Returns: `nil` if the descriptor is not a terminal.
    package init?(of descriptor: Int32) {
        var attributes = termios()
        guard tcgetattr(descriptor, &attributes) == 0 else { return nil }
        self.attributes = attributes
    }

    /// The settings in which each key is read at once, without echo.
    ///
    /// The keys for signals, such as Ctrl-C and Ctrl-Z, keep their effect; Ctrl-S no longer stops the output.
    package var forKeys: TerminalMode {
        var mode = self
        mode.attributes.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        mode.attributes.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | IGNCR | ISTRIP)
        withUnsafeMutableBytes(of: &mode.attributes.c_cc) { bytes in
            // Bounds: both are indices of c_cc by its definition (termios(3)).
            bytes[Int(VMIN)] = 1
            bytes[Int(VTIME)] = 0
        }
        return mode
    }

    /// The settings in which each key is read at once, without echo, those for signals included.
    package var forPasswords: TerminalMode {
        var mode = self.forKeys
        mode.attributes.c_lflag &= ~tcflag_t(ISIG)
        mode.attributes.c_iflag |= tcflag_t(ICRNL)
        return mode
    }

    /// Sets a terminal to these settings at once.
    ///
    /// In a background job this stops the process until it is in the foreground again (`SIGTTOU`).
    package func apply(to descriptor: Int32) {
        var attributes = self.attributes
        while tcsetattr(descriptor, TCSANOW, &attributes) != 0, errno == EINTR {}
    }

    // MARK: Crashes

    /// The data of ``restoreAfterCrash(_:text:)``, allocated once: a signal handler must not allocate.
    private struct Restoration {
        var descriptor: Int32
        var attributes: termios
        var text: UnsafeMutableBufferPointer<UInt8>
    }

    // Written before the handlers exist, and never freed.
    nonisolated(unsafe) private static var restoration: UnsafeMutablePointer<Restoration>?

    /// Restores these settings and writes `text` if the process ends by a crash, such as a failed precondition.
    ///
    /// Call it once, before the settings are changed. The process then ends by the same signal.
    package func restoreAfterCrash(_ descriptor: Int32, text: String) {
        guard Self.restoration == nil else { return }
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
        _ = bytes.initialize(from: text.utf8)
        let kept = UnsafeMutablePointer<Restoration>.allocate(capacity: 1)
        kept.initialize(to: Restoration(descriptor: descriptor, attributes: self.attributes, text: bytes))
        Self.restoration = kept
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            SignalDisposition.handleOnce(number) { number in
                // Only functions that are safe in a signal handler (signal-safety(7)).
                if let kept = TerminalMode.restoration {
                    _ = write(kept.pointee.descriptor, kept.pointee.text.baseAddress, kept.pointee.text.count)
                    _ = tcsetattr(kept.pointee.descriptor, TCSANOW, &kept.pointee.attributes)
                }
                raise(number)
            }
        }
    }
}

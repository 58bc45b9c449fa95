// SPDX-License-Identifier: Apache-2.0
import Platform

/// Asks for a password on the terminal of the process, without showing it.
enum PasswordPrompt {
    /// The end of a prompt.
    enum Answer: Equatable {
        /// A line was entered.
        case line(String)
        /// The user pressed Ctrl-C, or closed the terminal.
        case interrupted
    }

    /// Asks for a line; `nil` if the process has no terminal.
    ///
    /// Standard input and output may be in use for other things, so that the terminal itself is opened (tty(4)). Its
    /// mode is restored before the method returns; meanwhile Ctrl-C is a key, because a signal would leave the mode.
    ///
    /// - Parameter text: The prompt.
    /// - Returns: What was entered.
    static func ask(_ text: String) -> Answer? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        guard let mode = TerminalMode(of: terminal) else { return nil }
        mode.forPasswords.apply(to: terminal)
        let output = OutputStream(terminal)
        output.write(DisplayText.clean(text))
        let answer = self.answer { self.readByte(terminal) }
        mode.apply(to: terminal)
        output.write("\n")
        return answer
    }

    /// Reads keys up to the end of the line.
    ///
    /// - Parameter next: Returns the next byte, or `nil` at the end.
    /// - Returns: What was entered.
    static func answer(_ next: () -> UInt8?) -> Answer {
        var line: [UInt8] = []
        while let byte = next() {
            switch byte {
            case 0x0A, 0x0D: return .line(String(decoding: line, as: UTF8.self))
            case 0x03, 0x1C: return .interrupted
            case 0x04: return line.isEmpty ? .interrupted : .line(String(decoding: line, as: UTF8.self))
            case 0x08, 0x7F:
                // A character may have several bytes.
                while let last = line.popLast(), last & 0xC0 == 0x80 {}
            case 0x15: line = []
            default: if line.count < 4096 { line.append(byte) }
            }
        }
        return .interrupted
    }

    private static func readByte(_ descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = read(descriptor, &byte, 1)
            if count == 1 { return byte }
            guard count < 0, errno == EINTR else { return nil }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The keys that are typed at this program.
enum Keys {
    /// One element for each key; at a terminal without the key Return.
    static func typed() -> AsyncStream<Character> {
        var settings = termios()
        let isTerminal = tcgetattr(0, &settings) == 0
        let before = settings
        if isTerminal {
            settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(0, TCSANOW, &settings)
        }
        let (keys, typed) = AsyncStream.makeStream(of: Character.self)
        typed.onTermination = { _ in
            guard isTerminal else { return }
            var before = before
            tcsetattr(0, TCSANOW, &before)
        }
        Thread.detachNewThread {
            while case let data = FileHandle.standardInput.availableData, !data.isEmpty {
                for key in String(decoding: data, as: UTF8.self) where !key.isNewline { typed.yield(key) }
            }
            typed.finish()
        }
        return keys
    }
}

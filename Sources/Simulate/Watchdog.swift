// SPDX-License-Identifier: Apache-2.0
import Platform

/// Ends the program if one world takes ten minutes: a step of it does not return, so that its own bounds do not help.
enum Watchdog {
    private static let seconds: UInt32 = 600
    private static let capacity = 128
    /// What is printed; written before the alarm is set, because a signal handler may not allocate (signal-safety(7)).
    private nonisolated(unsafe) static let text = UnsafeMutablePointer<UInt8>.allocate(capacity: Watchdog.capacity)
    private nonisolated(unsafe) static var length = 0

    /// A world begins.
    static func watch(_ seed: UInt64) {
        if self.length == 0 {
            signal(SIGALRM) { _ in
                _ = write(2, Watchdog.text, Watchdog.length)
                _exit(3)
            }
        }
        self.length = 0
        for byte in "BROKEN: world \(seed) has a step that does not end\n".utf8.prefix(self.capacity) {
            self.text[self.length] = byte
            self.length += 1
        }
        alarm(self.seconds)
    }
}

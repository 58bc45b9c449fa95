// SPDX-License-Identifier: Apache-2.0
/// A word of a command line for a POSIX shell.
package enum ShellWord {
    /// The word, in single quotation marks unless it has only characters that no shell interprets.
    ///
    /// - Source: POSIX Shell Command Language, 2.2 Quoting.
    package static func quoted(_ word: String) -> String {
        let isPlain = !word.isEmpty && word.utf8.allSatisfy(self.isPlain)
        return isPlain
            ? word : "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        // % + , - . / : = @ _
        case 0x25, 0x2B, 0x2C, 0x2D, 0x2E, 0x2F, 0x3A, 0x3D, 0x40, 0x5F: true
        default: false
        }
    }
}

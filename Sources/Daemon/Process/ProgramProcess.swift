// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// The process of a program that has a background session open.
struct ProgramProcess: Sendable, Hashable {
    /// The process identifier.
    let id: pid_t

    /// Parses the process identifier at the start of an instance's name, `NUMBER-…`; `nil` if there is none.
    init?(instance: String) {
        guard let dash = instance.firstIndex(of: "-"), let id = pid_t(instance[..<dash]), id > 0 else { return nil }
        self.id = id
    }

    /// Whether the process has ended, also if it is still a zombie.
    var isGone: Bool {
        if kill(self.id, 0) != 0 { return errno == ESRCH }
        // proc_pid_stat(5): the state follows the name, which is in parentheses and may itself contain parentheses.
        let descriptor = open("/proc/\(self.id)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { _ = close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0, let end = bytes[..<count].lastIndex(of: 0x29), end + 2 < count else { return false }
        return bytes[end + 2] == UInt8(ascii: "Z") || bytes[end + 2] == UInt8(ascii: "X")
    }
}

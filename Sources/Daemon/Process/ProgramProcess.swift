// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// The process of a program that has a background session open, or that a wake command started.
struct ProgramProcess: Sendable, Hashable {
    /// The process identifier.
    let id: pid_t

    /// Creates the process with an identifier.
    init(id: pid_t) { self.id = id }

    /// Parses the process identifier at the start of an instance's name, `NUMBER-…`; `nil` if there is none.
    init?(instance: String) {
        guard let dash = instance.firstIndex(of: "-"), let id = pid_t(instance[..<dash]), id > 0 else { return nil }
        self.id = id
    }

    /// Whether the process has ended, also if it is still a zombie.
    var isGone: Bool {
        if kill(self.id, 0) != 0 { return errno == ESRCH }
        return self.fields.first == "Z" || self.fields.first == "X"
    }

    /// The time at which the process was started, in the kernel's clock ticks since the machine's start.
    ///
    /// It distinguishes the process from a later one with the same identifier; `nil` if the system does not report it.
    var startTime: UInt64? {
        let fields = self.fields
        return fields.count > 19 ? UInt64(fields[19]) : nil
    }

    /// The fields of `/proc/PID/stat` from the third on, the state; empty if there is no such file.
    ///
    /// - Source: proc_pid_stat(5): they follow the name, which is in parentheses and may itself contain parentheses.
    private var fields: [Substring] {
        let descriptor = open("/proc/\(self.id)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { _ = close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0, let end = bytes[..<count].lastIndex(of: 0x29) else { return [] }
        return String(decoding: bytes[(end + 1)..<count], as: UTF8.self).split(separator: " ")
    }
}

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The process of a program that has a background session open.
struct ProgramProcess: Sendable, Hashable {
    /// Its number.
    let id: pid_t

    /// The process that an instance's name begins with: `NUMBER-…`; `nil` where it names none.
    init?(instance: String) {
        guard let dash = instance.firstIndex(of: "-"), let id = pid_t(instance[..<dash]), id > 0 else { return nil }
        self.id = id
    }

    /// Whether it has ended, be it that nobody has taken its end yet.
    var isGone: Bool {
        if kill(self.id, 0) != 0 { return errno == ESRCH }
        // proc_pid_stat(5): the state stands behind the name, which is in parentheses and may hold any.
        let descriptor = open("/proc/\(self.id)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { _ = close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0, let end = bytes[..<count].lastIndex(of: 0x29), end + 2 < count else { return false }
        return bytes[end + 2] == UInt8(ascii: "Z") || bytes[end + 2] == UInt8(ascii: "X")
    }
}

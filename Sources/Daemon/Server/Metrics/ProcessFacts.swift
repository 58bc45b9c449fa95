// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// Memory and processor time of this process.
struct ProcessFacts: Sendable, Hashable {
    /// The resident memory in bytes.
    var resident: Int64?
    /// The address space in bytes.
    var virtual: Int64?
    /// The processor time in seconds.
    var seconds: Double

    /// Reads the current values.
    ///
    /// - Source: proc_pid_statm(5), getrusage(2).
    init() {
        var usage = rusage()
        getrusage(ResourceUsage.ofProcess, &usage)
        self.seconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { _ = close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return }
        let fields = String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ").compactMap { Int64($0) }
        guard fields.count > 1 else { return }
        let page = Int64(sysconf(Int32(_SC_PAGESIZE)))
        self.virtual = fields[0] * page
        self.resident = fields[1] * page
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}

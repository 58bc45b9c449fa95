// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// Reports the daemon's state to systemd, if systemd started it.
///
/// - Source: sd_notify(3): datagrams of `NAME=VALUE` lines to the socket named by `NOTIFY_SOCKET`.
struct ServiceNotifier: Sendable {
    private let path: String?
    /// The interval of `WATCHDOG=1`: half the time that systemd allows, or `nil` if the watchdog is off.
    let watchdogInterval: Duration?

    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_PID` and `WATCHDOG_USEC`.
    init(environment: (String) -> String?) {
        let path = environment("NOTIFY_SOCKET") ?? ""
        self.path = path.hasPrefix("/") || path.hasPrefix("@") ? path : nil
        let isForUs = environment("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        let interval = environment("WATCHDOG_USEC").flatMap { Int64($0) }
        self.watchdogInterval = isForUs ? interval.flatMap { $0 > 1 ? .microseconds($0 / 2) : nil } : nil
    }

    /// Reports that the queue is open and all sockets listen.
    func ready(_ status: String) { self.send("READY=1\nSTATUS=\(status)") }

    /// Reports that the daemon is stopping.
    func stopping() { self.send("STOPPING=1\nSTATUS=Stopping") }

    /// Sets the line that `systemctl status` shows.
    func status(_ text: String) { self.send("STATUS=\(text)") }

    /// Resets the watchdog's timer.
    func watchdog() { self.send("WATCHDOG=1") }

    private func send(_ text: String) {
        guard let path = self.path else { return }
        let descriptor = socket(AF_UNIX, SocketType.datagram, 0)
        guard descriptor >= 0 else { return }
        defer { _ = close(descriptor) }
        // Errors are ignored: systemd's own timeouts detect a lost notification.
        _ = UnixSocketAddress.with(path) { address, length in
            Array(text.utf8).withUnsafeBytes { sendto(descriptor, $0.baseAddress, $0.count, 0, address, length) }
        }
    }
}

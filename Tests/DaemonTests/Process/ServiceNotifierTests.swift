import Glibc
import Testing
import TransferTesting

@testable import Daemon

/// What systemd hears: sd_notify(3).
@Suite
struct ServiceNotifierTests {
    /// A datagram socket as systemd has it.
    private struct Listener: ~Copyable {
        let descriptor: Int32

        init(_ path: String) throws {
            self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            try #require(self.descriptor >= 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            let size = socklen_t(MemoryLayout<sockaddr_un>.size)
            let status = withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(self.descriptor, $0, size) }
            }
            try #require(status == 0)
            var limit = timeval(tv_sec: 10, tv_usec: 0)
            setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }

        deinit { _ = close(self.descriptor) }

        func next() -> String? {
            var buffer = [UInt8](repeating: 0, count: 512)
            let count = recv(self.descriptor, &buffer, buffer.count, 0)
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    @Test("Readiness, status, the watchdog and the end reach the socket that the environment names")
    func messages() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("notify")
        let listener = try Listener(path)
        let notifier = ServiceNotifier { $0 == "NOTIFY_SOCKET" ? path : nil }
        notifier.ready("3 waiting")
        #expect(listener.next() == "READY=1\nSTATUS=3 waiting")
        notifier.watchdog()
        #expect(listener.next() == "WATCHDOG=1")
        notifier.stopping()
        #expect(listener.next() == "STOPPING=1\nSTATUS=Stopping")
    }

    @Test("Half the watchdog's time, where it is meant for this process")
    func watchdog() {
        func interval(_ variables: [String: String]) -> Duration? {
            ServiceNotifier { variables[$0] }.watchdogInterval
        }
        #expect(interval(["WATCHDOG_USEC": "60000000"]) == .seconds(30))
        #expect(interval(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "\(getpid())"]) == .seconds(30))
        #expect(interval(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"]) == nil)
        #expect(interval(["WATCHDOG_USEC": "junk"]) == nil)
        #expect(interval([:]) == nil)
    }

    @Test("Without systemd, and with a socket that is none, nothing happens")
    func absent() {
        ServiceNotifier { _ in nil }.ready("")
        ServiceNotifier { $0 == "NOTIFY_SOCKET" ? "relative" : nil }.ready("")
        ServiceNotifier { $0 == "NOTIFY_SOCKET" ? "/" + String(repeating: "x", count: 300) : nil }.ready("")
        ServiceNotifier { $0 == "NOTIFY_SOCKET" ? "/nonexistent/socket" : nil }.ready("")
    }
}

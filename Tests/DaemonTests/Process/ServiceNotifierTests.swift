// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferTesting

@testable import Daemon

/// The messages to systemd: sd_notify(3).
@Suite
struct ServiceNotifierTests {
    @Test("Readiness, status, the watchdog and the end reach the socket that the environment names")
    func messages() throws {
        let directory = try TemporaryDirectory()
        let socket = try NotifySocket(directory.path("notify"))
        let notifier = ServiceNotifier { $0 == "NOTIFY_SOCKET" ? socket.path : nil }
        notifier.ready("3 waiting")
        #expect(try socket.next() == "READY=1\nSTATUS=3 waiting")
        notifier.watchdog()
        #expect(try socket.next() == "WATCHDOG=1")
        notifier.stopping()
        #expect(try socket.next() == "STOPPING=1\nSTATUS=Stopping")
    }

    @Test("Half of the watchdog's time, if it is meant for this process")
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

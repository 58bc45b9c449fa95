// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import TransferCore

/// The D-Bus session bus of the process's environment.
///
/// One connection per notification: they are seconds apart, and a connection that stays open would have to be read.
struct SessionBus: Sendable {
    /// The error of a bus that could not be used.
    enum Problem: Error, Hashable, Sendable {
        /// The environment names no bus, or nothing listens there.
        case noBus(String)
        /// No notification service is on the bus.
        case noService
        /// The bus or the service did not respond as expected.
        case failed(String)
    }

    /// The sockets to be tried, in order.
    let addresses: [DBusAddress]

    /// The time for one notification, with connecting and authenticating.
    private let patience: Duration

    /// Reads `DBUS_SESSION_BUS_ADDRESS`, and otherwise uses the socket `bus` in `XDG_RUNTIME_DIR`.
    ///
    /// - Parameters:
    ///   - patience: The time for one notification.
    ///   - environment: Returns the value of a variable.
    init(patience: Duration = .seconds(5), environment: (String) -> String?) {
        let runtime = environment("XDG_RUNTIME_DIR").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let named = environment("DBUS_SESSION_BUS_ADDRESS") ?? ""
        self.addresses =
            named.isEmpty
            ? runtime.map { [.path($0 + "/bus")] } ?? [] : DBusAddress.all(in: named, runtimeDirectory: runtime)
        self.patience = patience
    }

    /// Posts a notification; blocks for at most the patience.
    ///
    /// - Parameters:
    ///   - notification: What to post.
    ///   - replaced: The number of the notification that it replaces, or 0.
    /// - Returns: The number of the notification.
    /// - Throws: ``Problem``.
    func notify(_ notification: DesktopNotification, replacing replaced: UInt32) throws(Problem) -> UInt32 {
        let deadline = ContinuousClock.now + self.patience
        var problem = Problem.noBus("the environment does not name a session bus")
        for address in self.addresses {
            do throws(Problem) {
                let descriptor = try Self.connect(address)
                defer { _ = close(descriptor) }
                var call = NotifyCall(notification, replacing: replaced, user: geteuid())
                return try Self.run(&call, descriptor, deadline)
            } catch {
                problem = error
                // Only a bus that does not listen is worth trying another one.
                guard case .noBus = error else { throw error }
            }
        }
        throw problem
    }

    private static func connect(_ address: DBusAddress) throws(Problem) -> Int32 {
        let name =
            switch address {
            case .path(let path): path
            case .abstract(let name): "@" + name
            }
        let descriptor = socket(AF_UNIX, SocketType.stream, 0)
        guard descriptor >= 0 else { throw .failed("no socket: \(Self.text(errno))") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // A full backlog must not block.
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let result = UnixSocketAddress.with(name) { Platform.connect(descriptor, $0, $1) == 0 ? 0 : errno }
        guard result == 0 else {
            _ = close(descriptor)
            throw .noBus("'\(name)': \(result.map(Self.text) ?? "the name is too long")")
        }
        return descriptor
    }

    private static func run(
        _ call: inout NotifyCall,
        _ descriptor: Int32,
        _ deadline: ContinuousClock.Instant
    ) throws(Problem) -> UInt32 {
        // A bus that has closed the connection must not kill this process.
        SignalDisposition.ignore(SIGPIPE)
        var sending = call.opening[...]
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            try Self.wait(descriptor, sending.isEmpty ? POLLIN : POLLOUT, deadline)
            if !sending.isEmpty {
                let count = sending.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                guard count >= 0 || errno == EAGAIN || errno == EINTR else {
                    throw .failed("the bus closed the connection: \(Self.text(errno))")
                }
                sending = sending.dropFirst(max(0, count))
                continue
            }
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else {
                if count < 0, errno == EAGAIN || errno == EINTR { continue }
                throw .failed("the bus closed the connection")
            }
            switch call.received(buffer[..<count]) {
            case .receive: break
            case .send(let bytes): sending = bytes[...]
            case .posted(let number): return number
            case .failed(.noService): throw .noService
            case .failed(.refused(let text)): throw .failed(text)
            }
        }
    }

    /// Waits until the descriptor is ready, at most until the deadline.
    private static func wait(
        _ descriptor: Int32,
        _ event: some BinaryInteger,
        _ deadline: ContinuousClock.Instant
    ) throws(Problem) {
        while true {
            let left = (deadline - ContinuousClock.now).components
            let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
            guard milliseconds > 0 else { throw .failed("the bus did not respond in time") }
            var entry = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: event), revents: 0)
            let result = poll(&entry, 1, Int32(clamping: milliseconds))
            if result > 0 { return }
            if result < 0, errno != EINTR { throw .failed("poll: \(Self.text(errno))") }
        }
    }

    private static func text(_ number: Int32) -> String { String(cString: strerror(number)) }
}

// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferTesting

@testable import Receiver

/// A receiver for a separate directory, and clients to it.
final class ReceiverBench {
    let directory: TemporaryDirectory
    let receiver: Receiver

    /// Starts it.
    init(
        in directory: TemporaryDirectory? = nil,
        log: AccessLog? = nil,
        _ change: (inout ReceiverConfiguration) -> Void = { _ in }
    ) async throws {
        let directory = try directory ?? TemporaryDirectory()
        self.directory = directory
        var configuration = ReceiverConfiguration(directory: directory.path)
        configuration.listen.port = 0
        configuration.loops = 2
        configuration.limits.grace = .seconds(2)
        configuration.signInRounds = 10
        configuration.passwordRounds = 10
        change(&configuration)
        self.receiver = try await Receiver.start(configuration, log: log)
    }

    /// A new connection.
    func client() throws -> RawClient { try RawClient(port: self.receiver.address.port) }

    /// One request on a new connection.
    func request(
        _ method: String,
        _ path: String,
        _ fields: [(String, String)] = [],
        body: [UInt8]? = nil,
        host: String = "localhost"
    ) throws -> RawClient.Response {
        try self.client().request(method, path, fields, body: body, host: host)
    }

    /// The names in the directory for unfinished uploads, but for its lock.
    var unfinished: [String] {
        TemporaryDirectory.entries(of: self.directory.path(ServedTree.ownDirectory)).filter { $0 != "lock" }
    }

    /// The content of an unfinished upload's file.
    func area(_ name: String) throws -> [UInt8] { try self.directory.read("\(ServedTree.ownDirectory)/\(name)") }

    /// The descriptors of this process that are open for unfinished uploads.
    var openUnfinished: Int {
        let names = Set(self.unfinished)
        return Self.openPaths.count { path in
            path.split(separator: "/").last.map { names.contains(String($0)) } ?? false
        }
    }

    /// The paths of the files that this process has open.
    ///
    /// - Source: proc_pid_fd(5); fcntl(2) of macOS, `F_GETPATH`.
    private static var openPaths: [String] {
        #if canImport(Darwin)
        (0..<Int32(clamping: DescriptorLimits.current?.soft ?? 256))
            .compactMap { descriptor in
                var path = [UInt8](repeating: 0, count: 4096)
                guard fcntl(descriptor, F_GETPATH, &path) == 0 else { return nil }
                return String(decoding: path.prefix { $0 != 0 }, as: UTF8.self)
            }
        #else
        TemporaryDirectory.entries(of: "/proc/self/fd")
            .compactMap { number in
                var path = [UInt8](repeating: 0, count: 4096)
                let length = readlink("/proc/self/fd/\(number)", &path, path.count)
                return length > 0 ? String(decoding: path[..<length], as: UTF8.self) : nil
            }
        #endif
    }

    /// Waits at most thirty seconds until a condition is met; it is evaluated whenever an unfinished upload changes.
    ///
    /// - Source: inotify(7). Other systems evaluate it at intervals.
    func eventually(_ condition: () -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(30)
        #if os(Linux)
        let watch = inotify_init1(Int32(O_CLOEXEC | O_NONBLOCK))
        defer { close(watch) }
        let kinds = IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO
        _ = inotify_add_watch(watch, self.directory.path(ServedTree.ownDirectory), UInt32(kinds))
        var events = [UInt8](repeating: 0, count: 4096)
        while !condition() {
            guard ContinuousClock.now < end else { return false }
            var change = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
            // A condition can also depend on other events.
            if poll(&change, 1, 200) > 0 { _ = read(watch, &events, events.count) }
        }
        #else
        while !condition() {
            guard ContinuousClock.now < end else { return false }
            _ = poll(nil, 0, 20)
        }
        #endif
        return true
    }
}

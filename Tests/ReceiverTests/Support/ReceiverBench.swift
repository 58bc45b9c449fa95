// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferTesting

@testable import Receiver

/// A receiver for a directory of its own, and clients to it.
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

    /// A connection of its own.
    func client() throws -> RawClient { try RawClient(port: self.receiver.address.port) }

    /// One request on a connection of its own.
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

    /// What an unfinished upload's file has.
    func area(_ name: String) throws -> [UInt8] { try self.directory.read("\(ServedTree.ownDirectory)/\(name)") }

    /// The descriptors of this process that are open for unfinished uploads.
    ///
    /// - Source: proc_pid_fd(5).
    var openUnfinished: Int {
        let names = Set(self.unfinished)
        return TemporaryDirectory.entries(of: "/proc/self/fd")
            .count { number in
                var target = [UInt8](repeating: 0, count: 4096)
                let length = readlink("/proc/self/fd/\(number)", &target, target.count)
                guard length > 0 else { return false }
                let name = String(decoding: target[..<length], as: UTF8.self).split(separator: "/").last
                return name.map { names.contains(String($0)) } ?? false
            }
    }

    /// Waits until something holds, at most thirty seconds; it is looked at whenever an unfinished upload changes.
    ///
    /// - Source: inotify(7).
    func eventually(_ condition: () -> Bool) async -> Bool {
        let watch = inotify_init1(Int32(O_CLOEXEC | O_NONBLOCK))
        defer { close(watch) }
        let kinds = IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO
        _ = inotify_add_watch(watch, self.directory.path(ServedTree.ownDirectory), UInt32(kinds))
        let end = ContinuousClock.now + .seconds(30)
        var events = [UInt8](repeating: 0, count: 4096)
        while !condition() {
            guard ContinuousClock.now < end else { return false }
            var change = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
            // What changes elsewhere is looked at now and then.
            if poll(&change, 1, 200) > 0 { _ = read(watch, &events, events.count) }
        }
        return true
    }
}

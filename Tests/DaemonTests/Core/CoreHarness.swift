// SPDX-License-Identifier: Apache-2.0
import Control
import Logging
import Martlet
import QueueStore
import Testing
import TransferTesting

@testable import Daemon

/// A core in its own directory, and a record of its events.
final class CoreHarness: Sendable {
    let directory: TemporaryDirectory
    let store: QueueStore
    let core: DaemonCore
    let events: EventLog

    init(_ directory: TemporaryDirectory? = nil, _ change: (inout CoreConfiguration) -> Void = { _ in }) async throws {
        self.directory = try directory ?? TemporaryDirectory()
        self.store = try QueueStore(path: self.directory.path("queue.sqlite"))
        self.events = EventLog()
        var configuration = CoreConfiguration(
            stateDirectory: self.directory.path,
            directory: self.directory.path("files")
        )
        configuration.shared.proxy = .none
        configuration.options[.maxConcurrentDownloads] = "1"
        configuration.onEvent = { [events = self.events] in events.add($0) }
        configuration.logger = Logger(label: "test") { [events = self.events] _ in LogLines(events) }
        change(&configuration)
        self.core = try await DaemonCore.open(configuration, store: self.store)
    }

    func stop() async {
        self.core.stop(isForced: false)
        await self.core.waitUntilStopped()
    }

    @discardableResult
    func add(
        _ url: String,
        _ options: [String: String] = [:],
        session: String? = nil,
        isPaused: Bool = false,
        at position: Int? = nil
    ) async throws -> GID {
        let entry = NewTransfer(
            urls: [url],
            options: TransferOptions(options.mapValues { [$0] }),
            isPaused: isPaused,
            session: session
        )
        return try #require(try await self.core.add([entry], at: position).first)
    }

    /// The path of a file among the finished ones.
    func path(_ name: String) -> String { self.directory.path("files/" + name) }
}

/// The error of the interface that a piece of code throws.
func controlCode(_ body: () async throws -> some Any) async -> ControlError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? ControlError)?.code
    }
}

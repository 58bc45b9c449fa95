// SPDX-License-Identifier: Apache-2.0
import Martlet
import MartletFoundation
import Synchronization
import Testing
import TransferCore
import TransferTesting

/// The storage of a cache under test.
enum CachePlace: String, CaseIterable, Sendable {
    case disk, memory
}

/// A wall clock that a test sets, in seconds since 1970.
final class WallClock: Sendable {
    static let start: Int64 = 1_800_000_000

    private let time = Mutex(WallClock.start)

    var now: Int64 { self.time.withLock { $0 } }

    func advance(_ seconds: Int64) { self.time.withLock { $0 += seconds } }

    /// The time as a header field has it.
    var date: String { HTTPDate.format(self.now) }
}

/// A cache with a clock that the test sets, and a session that uses it.
final class CacheHarness: Sendable {
    let directory: TemporaryDirectory
    let clock = WallClock()
    let cache: ResponseCache
    let session: TransferSession

    init(
        _ place: CachePlace = .disk,
        limit: Int64 = 64 << 20,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws {
        self.directory = try TemporaryDirectory()
        let clock = self.clock
        switch place {
        case .disk:
            self.cache = try ResponseCache(directory: self.directory.path("cache"), limit: limit) { clock.now }
        case .memory: self.cache = ResponseCache(memoryLimit: limit) { clock.now }
        }
        self.session = try Self.session(self.cache, self.directory, change)
    }

    static func session(
        _ cache: ResponseCache,
        _ directory: TemporaryDirectory,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> TransferSession {
        var configuration = Harness.configuration(directory)
        configuration.cache = cache
        configuration.retries = .none
        change(&configuration)
        return try TransferSession(configuration: configuration)
    }

    /// Another cache of the same directory, as another process has it.
    func reopened(limit: Int64 = 64 << 20) throws -> ResponseCache {
        let clock = self.clock
        return try ResponseCache(directory: self.directory.path("cache"), limit: limit) { clock.now }
    }

    /// The files of the cache, after all that is being written.
    var files: [String] {
        _ = self.cache.size
        return Files.entries(of: self.directory.path("cache"))
    }

    func data(_ url: String, _ policy: CachePolicy? = nil, _ headers: HeaderFields = [:]) async throws -> DataResponse {
        var request = try TransferRequest(url)
        request.cachePolicy = policy
        request.headers = headers
        return try await self.session.data(from: request)
    }
}

extension ScriptedServer {
    /// A server whose responses have the number of the request for their target as their body.
    static func counting(
        _ fields: [(String, String)],
        _ status: Int = 200
    ) async throws -> ScriptedServer {
        try await ScriptedServer.start { request in .response(status, fields, text: "\(request.targetIndex)") }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

/// A separate session: no proxy, nothing shared, and a directory for all its files.
final class Harness: Sendable {
    let directory: TemporaryDirectory
    let session: TransferSession

    init(_ change: (inout SessionConfiguration) -> Void = { _ in }) throws {
        self.directory = try TemporaryDirectory()
        var configuration = Self.configuration(self.directory)
        change(&configuration)
        self.session = try TransferSession(configuration: configuration)
    }

    /// The configuration of every test's session.
    static func configuration(_ directory: TemporaryDirectory) -> SessionConfiguration {
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = .none
        configuration.directory = directory.path("place")
        // How many connections help is a matter of the moment; tests of one count requests.
        configuration.connectionsPerDownload = 1
        return configuration
    }

    /// The path of a file in the test's directory.
    func path(_ name: String) -> String { self.directory.path(name) }

    /// The files in the session's temporary place.
    var temporaryFiles: [String] { Self.entries(of: self.directory.path("place")) }

    static func entries(of path: String) -> [String] { Files.entries(of: path) }
}

/// The code of the error that a piece of code throws, or `nil` where it throws none of Martlet's.
func code(_ body: () async throws -> some Any) async -> TransferError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? TransferError)?.code
    }
}

/// The error that a piece of code throws.
func failure(
    _ body: () async throws -> some Any,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws -> TransferError {
    do {
        _ = try await body()
    } catch {
        return try #require(error as? TransferError, "\(error)", sourceLocation: sourceLocation)
    }
    throw TestSupportError("nothing failed, though something was to")
}

/// Runs work on a separate thread that can block.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Threads.start { continuation.resume(with: Result { try work() }) }
    }
}

extension [UInt8] {
    init(_ text: String) { self = Array(text.utf8) }

    /// As text.
    var text: String { String(decoding: self, as: UTF8.self) }
}

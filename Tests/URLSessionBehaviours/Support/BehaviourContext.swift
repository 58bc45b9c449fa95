// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import Synchronization
import TransferTesting

/// The servers, the directory and the checks of one case.
final class BehaviourContext: Sendable {
    /// An empty directory.
    let directory: TemporaryDirectory

    private let kept = Mutex<[any AnyObject & Sendable]>([])

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    /// Starts a server that lives as long as the context.
    func serve(
        tls: TestCertificate? = nil,
        _ script: @escaping ScriptedServer.Script = StandardRoutes.reply
    ) async throws -> BehaviourServer {
        BehaviourServer(server: self.keep(try await ScriptedServer.start(tls: tls, handler: script)))
    }

    /// Keeps an object as long as the context.
    func keep<Object: AnyObject & Sendable>(_ object: Object) -> Object {
        self.kept.withLock { $0.append(object) }
        return object
    }

    /// Stops the servers.
    func close() { self.kept.withLock { $0 = [] } }

    /// Creates a session with a default configuration, a request timeout of 5 seconds and these changes.
    func session(
        _ delegate: (any URLSessionDelegate)? = nil,
        queue: OperationQueue? = nil,
        configuration: URLSessionConfiguration = .default,
        configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        configuration.timeoutIntervalForRequest = 5
        configure(configuration)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    /// Throws unless the condition is true.
    func check(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        if !condition { throw BehaviourFailure(message()) }
    }

    /// Throws unless both values are equal.
    func equal<Value: Equatable>(_ value: Value, _ expected: Value, _ what: @autoclosure () -> String) throws {
        if value != expected { throw BehaviourFailure("\(what()) is \(value) instead of \(expected)") }
    }

    /// Throws unless the condition becomes true in time; for changes without a callback.
    func eventually(_ what: String, within seconds: Int = 6, _ condition: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if condition() { return }
            await Task.yield()
        }
        try self.check(condition(), "not within \(seconds) seconds: \(what)")
    }

    /// Returns the value, or throws if there is none.
    func unwrap<Value>(_ value: Value?, _ what: @autoclosure () -> String) throws -> Value {
        guard let value else { throw BehaviourFailure("there is no \(what())") }
        return value
    }

    /// Throws if the outcome is an error.
    func succeeded(_ outcome: Outcome) throws {
        if let error = outcome.error { throw BehaviourFailure("the task failed: \(error)") }
    }

    /// Throws unless the error is a `URLError` with this code.
    func code(_ error: (any Error)?, _ expected: URLError.Code, _ what: @autoclosure () -> String = "error") throws {
        guard let error else { throw BehaviourFailure("there is no \(what())") }
        guard let error = error as? URLError else {
            throw BehaviourFailure("the \(what()) is not a URLError: \(error)")
        }
        guard error.code == expected else {
            throw BehaviourFailure(
                "the \(what()) has code \(error.code.rawValue) (\(error.localizedDescription)) "
                    + "instead of \(expected.rawValue)"
            )
        }
    }

    /// Writes a file to the directory and returns its URL.
    func file(_ name: String, _ bytes: [UInt8]) throws -> URL {
        try self.directory.write(bytes, to: name)
        return URL(fileURLWithPath: self.directory.path(name))
    }
}

/// A server of a case, with Foundation's types.
struct BehaviourServer: Sendable {
    let server: ScriptedServer

    /// The URL of a path.
    func url(_ path: String) throws -> URL {
        guard let url = URL(string: self.server.text(path)) else { throw BehaviourFailure("no URL: \(path)") }
        return url
    }

    /// A request for a path.
    func request(
        _ path: String,
        _ method: String = "GET",
        fields: [String: String] = [:],
        body: Data? = nil
    ) throws -> URLRequest {
        var request = URLRequest(url: try self.url(path))
        request.httpMethod = method
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        request.httpBody = body
        return request
    }

    /// All requests so far.
    var requests: [RecordedRequest] { self.server.requests }

    /// The last request so far.
    func last() throws -> RecordedRequest {
        guard let request = self.requests.last else { throw BehaviourFailure("the server received no request") }
        return request
    }
}

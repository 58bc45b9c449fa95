// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

// snippet: adapting-token
/// Sends a token to one server, and renews it once for all requests that the server refuses.
final class TokenAdapter: RequestAdapter {
    private struct State {
        var token: String?
        var renewal: Task<String, any Error>?
    }

    private let origin: Origin
    private let renew: @Sendable () async throws -> String
    private let state = Mutex(State())

    init(for url: HTTPURL, renew: @escaping @Sendable () async throws -> String) {
        self.origin = url.origin
        self.renew = renew
    }

    func fields(for request: AdaptedRequest) async throws -> HeaderFields {
        guard request.url.origin == self.origin else { return [:] }
        return ["Authorization": "Bearer \(try await self.renewal.value)"]
    }

    func wasRefused(_ request: AdaptedRequest, with response: TransferResponse) {
        self.state.withLock { state in
            // Another request may have been refused before, and its token been replaced.
            guard let token = state.token, request.headers["Authorization"] == "Bearer \(token)" else { return }
            state = State()
        }
    }

    /// The running renewal, or the last one, whose token is in use.
    private var renewal: Task<String, any Error> {
        self.state.withLock { state in
            if let renewal = state.renewal { return renewal }
            let renewal = Task {
                do {
                    let token = try await self.renew()
                    self.state.withLock { $0.token = token }
                    return token
                } catch {
                    self.state.withLock { $0.renewal = nil }
                    throw error
                }
            }
            state.renewal = renewal
            return renewal
        }
    }
}
// end

@Suite("The article about adapters", .timeLimit(.minutes(1)))
struct AdaptingTests {
    private static let count = 6

    @Test("Several transfers whose token expires at once renew it once, and send it to its server only")
    func refresh() async throws {
        let valid = Mutex("token 1")
        let server = try await ScriptedServer.start { request in
            request["Authorization"] == "Bearer " + valid.withLock { $0 }
                ? .response(200, text: "inside") : .response(401, text: "expired")
        }
        let other = try await ScriptedServer.start { _ in .response(200, text: "outside") }
        let renewals = Mutex(0)
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = .none
        configuration.adapter = TokenAdapter(for: try server.url("/")) {
            let number = renewals.withLock { count in
                count += 1
                return count
            }
            return "token \(number)"
        }
        let session = try TransferSession(configuration: configuration)
        for round in 1...2 {
            valid.withLock { $0 = "token \(round)" }
            try await withThrowingTaskGroup(of: String.self) { group in
                for index in 0..<Self.count {
                    group.addTask {
                        index % 2 == 0
                            ? try await session.data(from: server.text("\(index)")).text
                            : try await session.upload(.bytes([1]), to: server.text("\(index)")).text
                    }
                }
                for try await text in group { #expect(text == "inside") }
            }
            #expect(renewals.withLock { $0 } == round)
        }
        #expect(try await session.data(from: other.text("a")).text == "outside")
        #expect(other.requests[0]["Authorization"] == nil)
    }

    @Test("A configuration has the adapter")
    func configured() throws {
        // snippet: adapting-session
        var configuration = SessionConfiguration.default
        configuration.adapter = TokenAdapter(for: try HTTPURL("https://api.example.org/")) {
            try await signIn()
        }
        let session = try TransferSession(configuration: configuration)
        // end
        #expect(session.configuration.adapter is TokenAdapter)
    }
}

private func signIn() async throws -> String { "token" }

// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// A server that wants these credentials, as the value of Authorization.
    private static func protected(
        _ context: BehaviourContext,
        refusal: String = ""
    ) async throws -> BehaviourServer {
        try await context.serve { request in
            // user:passwd
            request["Authorization"] == "Basic dXNlcjpwYXNzd2Q="
                ? .response(200, [("Content-Type", "text/plain")], text: "welcome")
                : .response(401, [("WWW-Authenticate", "Basic realm=\"the realm\"")], text: refusal)
        }
    }

    private static func credential(
        _ password: String = "passwd",
        _ persistence: URLCredential.Persistence = .none
    ) -> URLCredential {
        URLCredential(user: "user", password: password, persistence: persistence)
    }

    /// Challenges and credentials.
    static var authentication: [Behaviour] {
        [
            Behaviour("basicAuthentication", .corelibs("test_basicAuthRequest")) { context in
                let server = try await Self.protected(context)
                var decisions = Recorder.Decisions()
                decisions.challenge = { _ in (.useCredential, Self.credential()) }
                let recorder = Recorder(decisions)
                context.session(recorder).dataTask(with: try server.url("private")).resume()
                let record = try await recorder.success()
                try context.equal(record.status, 200, "the status")
                try context.equal(record.text, "welcome", "the content")
                let challenge = try context.unwrap(record.challenges.first, "challenge")
                try context.equal(challenge.method, NSURLAuthenticationMethodHTTPBasic, "the method")
                try context.equal(challenge.realm, "the realm", "the realm")
            },
            Behaviour("challengedBodyIsNotDelivered", .apple("Handling an authentication challenge")) { context in
                let server = try await Self.protected(context, refusal: "refused")
                var decisions = Recorder.Decisions()
                decisions.challenge = { _ in (.useCredential, Self.credential()) }
                let recorder = Recorder(decisions)
                context.session(recorder).dataTask(with: try server.url("private")).resume()
                let record = try await recorder.success()
                try context.equal(record.text, "welcome", "the content")
                try context.equal(record.callbacks, ["challenge", "response", "data", "complete"], "the callbacks")
            },
            Behaviour("unauthorizedWithoutChallenge", .corelibs("test_basicAuthWithUnauthorizedHeader")) { context in
                let server = try await context.serve { _ in .response(401, text: "refused") }
                let outcome = try await context.session().outcome(of: try server.request("private"))
                try context.succeeded(outcome)
                try context.equal(outcome.status, 401, "the status")
            },
            Behaviour("wrongCredentialIsCounted", .apple("URLAuthenticationChallenge.previousFailureCount")) {
                context in
                let server = try await Self.protected(context)
                var decisions = Recorder.Decisions()
                decisions.challenge = { challenge in
                    (.useCredential, Self.credential(challenge.previousFailureCount == 0 ? "wrong" : "passwd"))
                }
                let recorder = Recorder(decisions)
                context.session(recorder).dataTask(with: try server.url("private")).resume()
                let record = try await recorder.success()
                try context.equal(record.status, 200, "the status")
                try context.equal(record.challenges.map(\.failures), [0, 1], "the list of previous failures")
            },
            Behaviour("challengeCancelled", .apple("AuthChallengeDisposition.cancelAuthenticationChallenge")) {
                context in
                let server = try await Self.protected(context)
                var decisions = Recorder.Decisions()
                decisions.challenge = { _ in (.cancelAuthenticationChallenge, nil) }
                let recorder = Recorder(decisions)
                context.session(recorder).dataTask(with: try server.url("private")).resume()
                try context.code(try await recorder.completed.value(), .cancelled)
            },
            Behaviour("challengeByDefault", .apple("AuthChallengeDisposition.performDefaultHandling")) { context in
                // Without a stored credential the response is delivered.
                let server = try await Self.protected(context, refusal: "refused")
                let outcome = try await context.session(configuration: .ephemeral)
                    .outcome(of: try server.request("private"))
                try context.succeeded(outcome)
                try context.equal(outcome.status, 401, "the status")
                try context.equal(outcome.text, "refused", "the content")
            },
            Behaviour("storedCredential", .apple("URLSessionConfiguration.urlCredentialStorage")) { context in
                let server = try await Self.protected(context)
                let space = URLProtectionSpace(
                    host: "127.0.0.1",
                    port: server.server.port,
                    protocol: "http",
                    realm: "the realm",
                    authenticationMethod: NSURLAuthenticationMethodHTTPBasic
                )
                let configuration = URLSessionConfiguration.ephemeral
                let storage = try context.unwrap(configuration.urlCredentialStorage, "urlCredentialStorage")
                storage.setDefaultCredential(Self.credential("passwd", .forSession), for: space)
                let outcome = try await context.session(configuration: configuration)
                    .outcome(of: try server.request("private"))
                try context.equal(outcome.status, 200, "the status")
                try context.equal(outcome.text, "welcome", "the content")
            },
        ]
    }
}

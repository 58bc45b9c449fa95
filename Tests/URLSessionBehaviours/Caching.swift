// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// A server whose responses can be stored for a minute, with the number of the request as content.
    private static func cacheable(_ context: BehaviourContext) async throws -> BehaviourServer {
        try await context.serve { request in
            let fields = [("Cache-Control", "max-age=60"), ("Date", Self.now()), ("Content-Type", "text/plain")]
            return .response(200, fields, text: "response \(request.requestIndex)")
        }
    }

    private static func now() -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date())
    }

    private static func session(_ context: BehaviourContext, _ recorder: Recorder? = nil) -> URLSession {
        context.session(recorder) { configuration in
            configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        }
    }

    /// Runs a data task with a delegate, which decides about its caching.
    private static func text(_ session: URLSession, _ recorder: Recorder, _ request: URLRequest) async throws -> String
    {
        session.dataTask(with: request).resume()
        return try await recorder.success().text
    }

    /// Responses from a cache.
    static var caching: [Behaviour] {
        [
            Behaviour("freshResponseFromCache", .apple("NSURLRequest.CachePolicy.useProtocolCachePolicy")) { context in
                let server = try await Self.cacheable(context)
                let session = Self.session(context)
                let request = try server.request("page")
                try context.equal(try await session.outcome(of: request).text, "response 0", "the first response")
                try context.equal(try await session.outcome(of: request).text, "response 0", "the second response")
                try context.equal(server.requests.count, 1, "the number of requests")
            },
            Behaviour("cacheIgnored", .apple("NSURLRequest.CachePolicy.reloadIgnoringLocalCacheData")) { context in
                let server = try await Self.cacheable(context)
                let session = Self.session(context)
                var request = try server.request("page")
                request.cachePolicy = .reloadIgnoringLocalCacheData
                try context.equal(try await session.outcome(of: request).text, "response 0", "the first response")
                try context.equal(try await session.outcome(of: request).text, "response 1", "the second response")
            },
            Behaviour("onlyFromCache", .apple("NSURLRequest.CachePolicy.returnCacheDataDontLoad")) { context in
                let server = try await Self.cacheable(context)
                let session = Self.session(context)
                var request = try server.request("page")
                request.cachePolicy = .returnCacheDataDontLoad
                let outcome = try await session.outcome(of: request)
                try context.code(outcome.error, .resourceUnavailable)
                try context.equal(server.requests.count, 0, "the number of requests")
                request.cachePolicy = .useProtocolCachePolicy
                _ = try await session.outcome(of: request)
                request.cachePolicy = .returnCacheDataDontLoad
                try context.equal(try await session.outcome(of: request).text, "response 0", "the cached response")
            },
            Behaviour("delegateRefusesCaching", .apple("urlSession(_:dataTask:willCacheResponse:…)")) { context in
                let server = try await Self.cacheable(context)
                let proposed = Expectation<Void>("call of willCacheResponse")
                var decisions = Recorder.Decisions()
                decisions.cache = { _ in
                    proposed.fulfill()
                    return nil
                }
                let recorder = Recorder(decisions)
                let session = Self.session(context, recorder)
                let request = try server.request("page")
                try context.equal(try await Self.text(session, recorder, request), "response 0", "the first response")
                try await proposed.value()
                try context.equal(try await session.outcome(of: request).text, "response 1", "the second response")
            },
            Behaviour("staleResponseIsValidated", .apple("NSURLRequest.CachePolicy.useProtocolCachePolicy")) {
                context in
                let server = try await context.serve { request in
                    request["If-None-Match"] == "\"v1\""
                        ? .response(304, [("ETag", "\"v1\"")])
                        : .response(200, [("ETag", "\"v1\""), ("Cache-Control", "no-cache")], text: "page")
                }
                let session = Self.session(context)
                let request = try server.request("page")
                _ = try await session.outcome(of: request)
                let outcome = try await session.outcome(of: request)
                try context.equal(outcome.status, 200, "the second status")
                try context.equal(outcome.text, "page", "the second content")
                try context.equal(try server.last()["If-None-Match"], "\"v1\"", "the validator of the second request")
            },
        ]
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    private static let methods = ["HEAD", "GET", "PUT", "POST", "DELETE"]

    /// Requests a status with each method, and checks the redirect, the callbacks and the method of the second request.
    private static func follow(
        _ statuses: [Int],
        _ context: BehaviourContext,
        method second: (String) -> String
    ) async throws {
        let server = try await context.serve()
        for status in statuses {
            for method in Self.methods {
                let recorder = Recorder()
                let request = try server.request("status/\(status)?to=/hello", method)
                context.session(recorder).dataTask(with: request).resume()
                let record = try await recorder.success()
                let what = "\(status) of \(method)"
                try context.equal(record.status, 200, "the final status after \(what)")
                try context.equal(record.redirects.map(\.response.statusCode), [status], "the redirect of \(what)")
                let received = try server.last()
                try context.equal(received.method, second(method), "the method after \(what)")
                let hasBody = second(method) != "HEAD"
                let expected = ["redirect", "response"] + (hasBody ? ["data"] : []) + ["complete"]
                try context.equal(record.callbacks, expected, "the list of callbacks of \(what)")
                try context.equal(record.text, hasBody ? StandardRoutes.hello : "", "the content after \(what)")
            }
        }
    }

    /// Requests a status with each method, and checks that it is the final one.
    private static func deliver(
        _ status: Int,
        _ context: BehaviourContext,
        text: (String) -> String,
        decisions: Recorder.Decisions = .init(),
        redirects: Int = 0
    ) async throws {
        let server = try await context.serve()
        for method in Self.methods {
            let recorder = Recorder(decisions)
            let request = try server.request("status/\(status)?to=/hello", method)
            context.session(recorder).dataTask(with: request).resume()
            let record = try await recorder.success()
            let what = "\(status) of \(method)"
            try context.equal(record.status, status, "the final status of \(what)")
            try context.equal(record.redirects.count, redirects, "the number of redirects of \(what)")
            try context.equal(record.text, text(method), "the content of \(what)")
            let expected =
                (redirects > 0 ? ["redirect"] : []) + ["response"] + (text(method).isEmpty ? [] : ["data"])
                + ["complete"]
            try context.equal(record.callbacks, expected, "the list of callbacks of \(what)")
        }
    }

    /// Requests a path that redirects to a relative reference, and checks the second path.
    private static func followRelative(
        _ path: String,
        _ location: String,
        to target: String,
        _ context: BehaviourContext
    ) async throws {
        let server = try await context.serve { request in
            request.path == path ? .redirect(to: location) : .response(200, text: request.target)
        }
        let recorder = Recorder()
        context.session(recorder).dataTask(with: try server.url(path)).resume()
        try context.equal(try await recorder.success().text, target, "the target")
    }

    /// Redirects by status, and their targets.
    static var redirects: [Behaviour] {
        [
            Behaviour("redirect300", .corelibs("test_httpRedirectionWithCode300")) { context in
                try await Self.deliver(300, context) { $0 == "HEAD" ? "" : "see /hello" }
            },
            Behaviour("redirect301And302", .corelibs("test_httpRedirectionWithCode301_302")) { context in
                try await Self.follow([301, 302], context) { $0 == "POST" ? "GET" : $0 }
            },
            Behaviour("redirect303", .corelibs("test_httpRedirectionWithCode303")) { context in
                try await Self.follow([303], context) { _ in "GET" }
            },
            Behaviour("redirect304", .corelibs("test_httpRedirectionWithCode304")) { context in
                try await Self.deliver(304, context) { _ in "" }
            },
            Behaviour("redirect305To308", .corelibs("test_httpRedirectionWithCode305_308")) { context in
                try await Self.follow([305, 306, 307, 308], context) { $0 }
            },
            Behaviour("redirectRefused", .corelibs("test_httpRedirectDontFollowUsingNil")) { context in
                var decisions = Recorder.Decisions()
                decisions.redirect = { _, _, completionHandler in completionHandler(nil) }
                try await Self.deliver(
                    302,
                    context,
                    text: { $0 == "HEAD" ? "" : "see /hello" },
                    decisions: decisions,
                    redirects: 1
                )
            },
            Behaviour("redirectUnanswered", .corelibs("test_httpRedirectDontFollowIgnoringHandler")) { context in
                let server = try await context.serve()
                let asked = Expectation<Void>("call of willPerformHTTPRedirection")
                var decisions = Recorder.Decisions()
                decisions.redirect = { _, _, _ in asked.fulfill() }
                for method in Self.methods {
                    let recorder = Recorder(decisions)
                    let request = try server.request("status/302?to=/hello", method)
                    context.session(recorder).dataTask(with: request).resume()
                    try await asked.value()
                    try await recorder.completed.doesNotHappen(within: 0.5)
                    try context.equal(recorder.record.callbacks, ["redirect"], "the list of callbacks of \(method)")
                }
                try context.equal(
                    server.server.requests(for: "/hello").count,
                    0,
                    "the number of requests of the target"
                )
            },
            Behaviour("redirectToURL", .corelibs("test_httpRedirectionWithCompleteRelativePath")) { context in
                let target = try await context.serve()
                let location = target.server.text("hello")
                let server = try await context.serve { _ in .redirect(to: location) }
                let recorder = Recorder()
                context.session(recorder).dataTask(with: try server.url("start")).resume()
                let record = try await recorder.success()
                try context.equal(record.text, StandardRoutes.hello, "the content")
                try context.equal(record.response?.url?.absoluteString, location, "the response's URL")
            },
            Behaviour("redirectToRelativePath", .corelibs("test_httpRedirectionWithInCompleteRelativePath")) {
                context in
                try await Self.followRelative("/start", "next", to: "/next", context)
            },
            Behaviour("redirectToRelativePathInFolder", .apple("urlSession(_:task:willPerformHTTPRedirection:…)")) {
                context in
                // RFC 3986 §5.2.3.
                try await Self.followRelative("/folder/start", "next", to: "/folder/next", context)
            },
            Behaviour("redirectToDefaultPort", .corelibs("test_httpRedirectionWithDefaultPort")) { context in
                let server = try await context.serve { _ in .redirect(to: "http://127.0.0.1/elsewhere") }
                var decisions = Recorder.Decisions()
                // Nothing listens on the default port.
                decisions.redirect = { _, _, completionHandler in completionHandler(nil) }
                let recorder = Recorder(decisions)
                context.session(recorder).dataTask(with: try server.url("start")).resume()
                let record = try await recorder.success()
                let url = record.redirects.first?.request.url?.absoluteString
                try context.equal(url, "http://127.0.0.1/elsewhere", "the new request's URL")
                try context.equal(record.status, 302, "the status")
            },
            Behaviour("redirectToQuery", .corelibs("test_httpRedirectionWithEncodedQuery")) { context in
                let server = try await context.serve { request in
                    request.path == "/start"
                        ? .redirect(to: "found?param=a%20b%3Fc", status: 303) : .response(200, text: request.target)
                }
                let recorder = Recorder()
                context.session(recorder).dataTask(with: try server.url("start")).resume()
                try context.equal(try await recorder.success().text, "/found?param=a%20b%3Fc", "the target")
            },
        ]
    }

    /// Redirects that fail, chains of them, and the delegate of a task with a completion handler.
    static var redirectLimits: [Behaviour] {
        [
            Behaviour("redirectToClosedPort", .corelibs("test_httpRedirectionTimeout")) { context in
                let port = context.keep(try RefusingPort())
                let location = port.text("hello")
                let server = try await context.serve { _ in .redirect(to: location) }
                var request = try server.request("start")
                request.timeoutInterval = 3
                let outcome = try await context.session().outcome(of: request)
                try context.code(outcome.error, .cannotConnectToHost)
            },
            Behaviour("redirectKeepsTimeout", .corelibs("test_httpRedirectionChainInheritsTimeoutInterval")) {
                context in
                let server = try await context.serve()
                for method in Self.methods {
                    var request = try server.request("redirect/4", method)
                    request.timeoutInterval = 3
                    let recorder = Recorder()
                    context.session(recorder).dataTask(with: request).resume()
                    let record = try await recorder.success()
                    let intervals = record.redirects.map(\.request.timeoutInterval)
                    try context.equal(intervals, [3, 3, 3, 3], "the list of timeouts of \(method)")
                    try context.equal(record.status, 200, "the status of \(method)")
                }
            },
            Behaviour("tooManyRedirects", .corelibs("test_httpRedirectionExceededMaxRedirects")) { context in
                let server = try await context.serve()
                for method in Self.methods {
                    let recorder = Recorder()
                    context.session(recorder).dataTask(with: try server.request("redirect/99", method)).resume()
                    let error = try await recorder.completed.value()
                    try context.code(error, .httpTooManyRedirects)
                    let url = (error as? URLError)?.userInfo[NSURLErrorFailingURLErrorKey] as? URL
                    try context.equal(url?.path, "/redirect/79", "the path of the error's URL")
                    try context.equal(recorder.record.redirects.count, 20, "the number of redirects")
                    try context.equal(
                        recorder.record.redirects.last?.request.url?.path,
                        "/redirect/79",
                        "the last redirect"
                    )
                    try context.check(recorder.record.response == nil, "a response was delivered")
                }
            },
            Behaviour("redirectDelegateOfHandlerTask", .corelibs("test_willPerformRedirect")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let outcome = try await context.session(recorder).outcome(of: try server.request("redirect/1"))
                try context.succeeded(outcome)
                try context.equal(outcome.text, StandardRoutes.hello, "the content")
                let record = recorder.record
                try context.equal(record.callbacks, ["redirect"], "the list of callbacks")
                try context.equal(record.redirects.first?.request.url, try server.url("hello"), "the new URL")
            },
        ]
    }
}

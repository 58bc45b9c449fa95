// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// Times that a task may take.
    static var timeouts: [Behaviour] {
        [
            Behaviour("taskWithinTimeout", .corelibs("test_taskTimeout")) { context in
                let server = try await context.serve()
                let outcome = try await context.session().outcome(of: try server.request("hello"))
                try context.succeeded(outcome)
            },
            Behaviour("requestTimeout", .corelibs("test_timeoutInterval")) { context in
                // The request's timeout is shorter than the configuration's, which the test does not wait for.
                let server = try await context.serve { _ in Reply([.stall]) }
                var request = try server.request("silent")
                request.timeoutInterval = 1
                let session = context.session { $0.timeoutIntervalForRequest = 3600 }
                let outcome = try await session.outcome(of: request)
                try context.code(outcome.error, .timedOut)
            },
            Behaviour("configurationTimeout", .apple("timeoutIntervalForRequest")) { context in
                let server = try await context.serve { _ in Reply([.stall]) }
                let session = context.session { $0.timeoutIntervalForRequest = 1 }
                let outcome = try await session.outcome(of: try server.request("silent"))
                try context.code(outcome.error, .timedOut)
            },
            Behaviour("timeoutRestartsWithData", .apple("timeoutIntervalForRequest")) { context in
                // New data restart the timer.
                let server = try await context.serve { _ in
                    Reply([
                        .head(Reply.headBytes(200, [("Content-Length", "20")])),
                        .drip(Array("twenty bytes, slowly".utf8), every: .milliseconds(200)),
                    ])
                }
                let session = context.session { $0.timeoutIntervalForRequest = 2 }
                let outcome = try await session.outcome(of: try server.request("slow"))
                try context.succeeded(outcome)
                try context.equal(outcome.text, "twenty bytes, slowly", "the content")
            },
            Behaviour("resourceTimeout", .apple("timeoutIntervalForResource")) { context in
                // Data arrive until the end, so that only the resource's timeout can end the task.
                let server = try await context.serve { _ in
                    Reply([
                        .head(Reply.headBytes(200, [("Content-Length", "1000")])),
                        .drip([UInt8](repeating: 0x2E, count: 1000), every: .milliseconds(100)),
                    ])
                }
                let recorder = Recorder()
                let session = context.session(recorder) { $0.timeoutIntervalForResource = 2 }
                session.dataTask(with: try server.url("endless")).resume()
                try context.code(try await recorder.completed.value(), .timedOut)
            },
        ]
    }

    /// Properties of configurations and their effect.
    static var configurations: [Behaviour] {
        [
            Behaviour("configurationProperties", .corelibs("test_initURLSessionConfiguration")) { context in
                // Without two deprecated properties.
                let configuration = URLSessionConfiguration.default
                configuration.requestCachePolicy = .useProtocolCachePolicy
                configuration.timeoutIntervalForRequest = 30
                configuration.timeoutIntervalForResource = 604_800
                configuration.networkServiceType = .default
                configuration.allowsCellularAccess = false
                configuration.isDiscretionary = true
                configuration.httpShouldSetCookies = true
                configuration.httpCookieAcceptPolicy = .always
                configuration.httpMaximumConnectionsPerHost = 2
                configuration.httpCookieStorage = HTTPCookieStorage.shared
                configuration.urlCredentialStorage = nil
                configuration.urlCache = nil
                try context.equal(configuration.requestCachePolicy, .useProtocolCachePolicy, "requestCachePolicy")
                try context.equal(configuration.timeoutIntervalForRequest, 30, "timeoutIntervalForRequest")
                try context.equal(configuration.timeoutIntervalForResource, 604_800, "timeoutIntervalForResource")
                try context.equal(configuration.networkServiceType, .default, "networkServiceType")
                try context.check(!configuration.allowsCellularAccess, "allowsCellularAccess is true")
                try context.check(configuration.isDiscretionary, "isDiscretionary is false")
                try context.check(configuration.httpShouldSetCookies, "httpShouldSetCookies is false")
                try context.equal(configuration.httpCookieAcceptPolicy, .always, "httpCookieAcceptPolicy")
                try context.equal(configuration.httpMaximumConnectionsPerHost, 2, "httpMaximumConnectionsPerHost")
                try context.check(configuration.httpCookieStorage === HTTPCookieStorage.shared, "httpCookieStorage")
                try context.check(configuration.urlCredentialStorage == nil, "urlCredentialStorage is not nil")
                try context.check(configuration.urlCache == nil, "urlCache is not nil")
            },
            Behaviour("proxyDictionary", .apple("URLSessionConfiguration.connectionProxyDictionary")) { context in
                let proxy = try await context.serve { .response(200, text: "for \($0.target)") }
                let session = context.session {
                    $0.connectionProxyDictionary = [
                        "HTTPEnable": true, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.server.port,
                        "ExceptionsList": ["127.0.0.1"],
                    ]
                }
                let url = try context.unwrap(URL(string: "http://files.invalid/a"), "URL")
                let proxied = try await session.outcome(of: URLRequest(url: url))
                try context.succeeded(proxied)
                try context.equal(proxied.text, "for http://files.invalid/a", "the response of the proxy")
                let direct = try await session.outcome(of: try proxy.request("b"))
                try context.succeeded(direct)
                try context.equal(direct.text, "for /b", "the response to an exception")
            },
            Behaviour("configurationIsCopied", .apple("URLSession.configuration")) { context in
                // The session has a copy, and returns one: later changes have no effect on it.
                let server = try await context.serve()
                let configuration = URLSessionConfiguration.ephemeral
                configuration.httpAdditionalHeaders = ["X-Version": "1"]
                let session = context.session(configuration: configuration)
                configuration.httpAdditionalHeaders = ["X-Version": "2"]
                session.configuration.httpAdditionalHeaders = ["X-Version": "3"]
                _ = try await session.outcome(of: try server.request("hello"))
                try context.equal(try server.last()["X-Version"], "1", "the field")
            },
            Behaviour("maximumConnectionsPerHost", .apple("httpMaximumConnectionsPerHost")) { context in
                let gate = Gate()
                let server = try await context.serve { request in
                    Reply([.waitUntil(gate)] + Reply.response(200, text: request.target).steps)
                }
                let session = context.session { $0.httpMaximumConnectionsPerHost = 2 }
                let recorders = (0..<6).map { _ in Expectation<Outcome>("call of the completion handler") }
                for (index, recorder) in recorders.enumerated() {
                    let task = session.dataTask(with: try server.url("\(index)")) { data, response, error in
                        recorder.fulfill(Outcome(data: data, response: response, error: error))
                    }
                    task.resume()
                }
                await server.server.waitForRequests(2)
                // Further requests would arrive in this time.
                try await recorders[0].doesNotHappen(within: 0.5)
                try context.equal(server.requests.count, 2, "the number of concurrent requests")
                gate.open()
                for recorder in recorders {
                    try context.equal(try await recorder.value().status, 200, "the status")
                }
                try context.equal(server.requests.count, 6, "the number of requests")
                try context.check(server.server.connectionCount <= 2, "there were more than 2 connections")
            },
            Behaviour("waitsForConnectivity", .apple("waitsForConnectivity")) { context in
                #if FOUNDATION_SESSION
                throw BehaviourFailure.doesNotCompile("URLSessionConfiguration.waitsForConnectivity")
                #else
                let server = try await context.serve()
                let session = context.session { $0.waitsForConnectivity = true }
                try context.check(session.configuration.waitsForConnectivity, "the property is false")
                let outcome = try await session.outcome(of: try server.request("hello"))
                try context.equal(outcome.text, StandardRoutes.hello, "the content")
                #endif
            },
        ]
    }
}

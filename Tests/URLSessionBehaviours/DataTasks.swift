// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// Data tasks with a delegate and with a completion handler.
    static var dataTasks: [Behaviour] {
        [
            Behaviour("dataTaskWithURL", .corelibs("test_dataTaskWithURL")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                context.session(recorder).dataTask(with: try server.url("hello")).resume()
                let record = try await recorder.success()
                try context.equal(record.text, StandardRoutes.hello, "the content")
                try context.equal(record.callbacks, ["response", "data", "complete"], "the list of callbacks")
            },
            Behaviour("dataTaskWithURLAndHandler", .corelibs("test_dataTaskWithURLCompletionHandler")) { context in
                let server = try await context.serve()
                let url = try server.url("hello")
                for session in [URLSession.shared, context.session()] {
                    let done = Expectation<Outcome>("call of the completion handler")
                    let task = session.dataTask(with: url) { data, response, error in
                        done.fulfill(Outcome(data: data, response: response, error: error))
                    }
                    task.resume()
                    let outcome = try await done.value()
                    try context.succeeded(outcome)
                    try context.equal(outcome.status, 200, "the status")
                    try context.equal(outcome.text, StandardRoutes.hello, "the content")
                }
            },
            Behaviour("dataTaskWithRequest", .corelibs("test_dataTaskWithURLRequest")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                context.session(recorder).dataTask(with: try server.request("hello")).resume()
                let record = try await recorder.success()
                try context.equal(record.status, 200, "the status")
                try context.equal(record.text, StandardRoutes.hello, "the content")
            },
            Behaviour("dataTaskWithRequestAndHandler", .corelibs("test_dataTaskWithURLRequestCompletionHandler")) {
                context in
                let server = try await context.serve()
                let outcome = try await context.session().outcome(of: try server.request("hello"))
                try context.succeeded(outcome)
                try context.equal(outcome.status, 200, "the status")
                try context.equal(outcome.text, StandardRoutes.hello, "the content")
            },
            Behaviour("delegateOfDataAndDownloads", .corelibs("test_dataTaskWithSharedDelegate")) { context in
                // The recorder is a data delegate and a download delegate, and serves tasks of both kinds.
                let server = try await context.serve()
                let recorder = Recorder()
                let session = context.session(recorder)
                session.dataTask(with: try server.url("hello")).resume()
                let record = try await recorder.success()
                try context.equal(record.text, StandardRoutes.hello, "the content")
            },
            Behaviour("concurrentRequests", .corelibs("test_concurrentRequests")) { context in
                let server = try await context.serve()
                let url = try server.url("hello")
                let texts = try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<10 {
                        group.addTask {
                            let recorder = Recorder()
                            context.session(recorder).dataTask(with: url).resume()
                            return try await recorder.success().text
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                try context.equal(texts, Array(repeating: StandardRoutes.hello, count: 10), "the list of contents")
            },
            Behaviour("taskCopyIsEqual", .corelibs("test_taskCopy")) { context in
                let server = try await context.serve()
                let task = context.session().dataTask(with: try server.url("hello"))
                try context.check(task.isEqual(task.copy()), "a copy is not equal to its task")
            },
            Behaviour("invalidPort", .corelibs("test_taskError")) { context in
                let url = try context.unwrap(URL(string: "http://127.0.0.1:99999/hello"), "URL with port 99999")
                let done = Expectation<Outcome>("call of the completion handler")
                let task = context.session()
                    .dataTask(with: url) { data, response, error in
                        done.fulfill(Outcome(data: data, response: response, error: error))
                    }
                task.resume()
                try context.code(try await done.value().error, .badURL)
                try context.code(task.error, .badURL, "task's error")
            },
            Behaviour("unsupportedScheme", .corelibs("test_unhandledURLProtocol")) { context in
                let url = try context.unwrap(URL(string: "unheard-of://127.0.0.1/hello"), "URL")
                let outcome = try await context.session().outcome(of: URLRequest(url: url))
                try context.check(outcome.data == nil && outcome.response == nil, "there is a response")
                try context.code(outcome.error, .unsupportedURL)
            },
            Behaviour("requestWithoutURL", .corelibs("test_requestToNilURL")) { context in
                var request = URLRequest(url: try context.unwrap(URL(string: "http://127.0.0.1/"), "URL"))
                request.url = nil
                let outcome = try await context.session().outcome(of: request)
                try context.check(outcome.data == nil && outcome.response == nil, "there is a response")
                try context.code(outcome.error, .unsupportedURL)
            },
            Behaviour("connectionRefused", .apple("URLError.Code.cannotConnectToHost")) { context in
                let port = context.keep(try RefusingPort())
                let url = try context.unwrap(URL(string: port.text("hello")), "URL")
                let outcome = try await context.session().outcome(of: URLRequest(url: url))
                try context.code(outcome.error, .cannotConnectToHost)
                let failing = (outcome.error as? URLError)?.userInfo[NSURLErrorFailingURLErrorKey] as? URL
                try context.equal(failing, url, "the error's URL")
            },
        ]
    }

    /// Correct and incorrect responses.
    static var responses: [Behaviour] {
        [
            Behaviour("gzippedContent", .corelibs("test_gzippedDataTask")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                context.session(recorder).dataTask(with: try server.url("gzip")).resume()
                try context.equal(try await recorder.success().text, StandardRoutes.zipped, "the content")
                try context.check(
                    try server.last()["Accept-Encoding"]?.contains("gzip") == true,
                    "the request does not accept gzip"
                )
            },
            Behaviour("notFound", .corelibs("test_httpNotFound")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                context.session(recorder).dataTask(with: try server.url("nowhere")).resume()
                let record = try await recorder.success()
                try context.equal(record.status, 404, "the status")
                try context.equal(record.text, "nothing at /nowhere", "the content")
                try context.equal(record.callbacks, ["response", "data", "complete"], "the list of callbacks")
            },
            Behaviour("http09", .corelibs("test_http0_9SimpleResponses")) { context in
                let server = try await context.serve { _ in .raw("a body without a head\r\n").then(.close) }
                let outcome = try await context.session().outcome(of: try server.request("old"))
                try context.succeeded(outcome)
                try context.equal(outcome.status, 200, "the status")
            },
            Behaviour("status999", .corelibs("test_outOfRangeButCorrectlyFormattedHTTPCode")) { context in
                let server = try await context.serve { _ in
                    .raw("HTTP/1.1 999 Odd\r\nfield: value\r\n\r\n").then(.close)
                }
                let outcome = try await context.session().outcome(of: try server.request("odd"))
                try context.succeeded(outcome)
                try context.check(outcome.data != nil, "there are no data")
                try context.equal(outcome.status, 999, "the status")
            },
            Behaviour("bodyUntilClose", .corelibs("test_missingContentLengthButStillABody")) { context in
                let server = try await context.serve { _ in .raw("HTTP/1.1 200 OK\r\n\r\na body\r\n").then(.close) }
                let outcome = try await context.session().outcome(of: try server.request("unframed"))
                try context.succeeded(outcome)
                try context.equal(outcome.status, 200, "the status")
                try context.equal(outcome.text, "a body\r\n", "the content")
            },
            Behaviour("invalidResponses", .corelibs("test_illegalHTTPServerResponses")) { context in
                for line in ["HTTP/1.1", "HTTP/1.1 20 Short", "HTTP/1.1 2000 Long"] {
                    let server = try await context.serve { _ in .raw("\(line)\r\nfield: value\r\n\r\n").then(.close) }
                    let outcome = try await context.session().outcome(of: try server.request("invalid"))
                    try context.check(outcome.error != nil, "the response to \(line) succeeds")
                    try context.check(outcome.data == nil && outcome.response == nil, "\(line) has a response")
                }
            },
            Behaviour("truncatedBody", .apple("URLError.Code.networkConnectionLost")) { context in
                let server = try await context.serve { request in
                    var file = ServedFile(StandardRoutes.pattern, length: 100_000)
                    file.interruption = .closeAfter(50_000)
                    return .file(file, request)
                }
                let outcome = try await context.session().outcome(of: try server.request("short"))
                try context.code(outcome.error, .networkConnectionLost)
            },
            Behaviour("untrustedCertificate", .apple("URLError.Code.serverCertificateUntrusted")) { context in
                let server = try await context.serve(tls: .localhost)
                let outcome = try await context.session().outcome(of: try server.request("hello"))
                try context.code(outcome.error, .serverCertificateUntrusted)
                try context.equal(server.requests.count, 0, "the number of requests")
            },
        ]
    }

    /// Header fields of requests.
    static var requests: [Behaviour] {
        [
            Behaviour("requestHeaders", .corelibs("test_verifyRequestHeaders")) { context in
                let server = try await context.serve()
                var request = try server.request("hello", "POST", fields: ["header1": "value1"])
                let session = context.session()
                let done = Expectation<Outcome>("call of the completion handler")
                let task = session.dataTask(with: request) { data, response, error in
                    done.fulfill(Outcome(data: data, response: response, error: error))
                }
                task.resume()
                // The task has its own copy.
                request.allHTTPHeaderFields = nil
                _ = try await done.value()
                let received = try server.last()
                try context.equal(received.method, "POST", "the method")
                try context.equal(received["header1"], "value1", "the field")
            },
            Behaviour("additionalHeaders", .corelibs("test_verifyHttpAdditionalHeaders")) { context in
                let server = try await context.serve()
                let session = context.session { configuration in
                    configuration.httpAdditionalHeaders = ["header2": "s2", "header3": "s3", "header4": "s4"]
                }
                let fields = ["header1": "r1", "header2": "r2", "Header4": "r4"]
                _ = try await session.outcome(of: try server.request("hello", "POST", fields: fields))
                let received = try server.last()
                try context.equal(received["header1"], "r1", "a field of the request")
                try context.equal(received["header2"], "r2", "a field of both")
                try context.equal(received["header3"], "s3", "a field of the configuration")
                try context.equal(received.values("header4"), ["r4"], "a field of both with other case")
            },
            Behaviour("emptyBodies", .corelibs("test_requestWithEmptyBody")) { context in
                let server = try await context.serve()
                for method in ["HEAD", "GET", "PUT", "POST", "DELETE"] {
                    for body in [nil, Data()] as [Data?] {
                        for type in ["text/plain; charset=utf-8", nil] {
                            let fields = type.map { ["Content-Type": $0] } ?? [:]
                            let recorder = Recorder()
                            let request = try server.request("hello", method, fields: fields, body: body)
                            context.session(recorder).dataTask(with: request).resume()
                            let record = try await recorder.success()
                            let expected = ["response"] + (method == "HEAD" ? [] : ["data"]) + ["complete"]
                            try context.equal(record.callbacks, expected, "the list of callbacks of \(method)")
                            try context.equal(record.status, 200, "the status of \(method)")
                            let received = try server.last()
                            try context.equal(received.method, method, "the method")
                            try context.equal(received["Content-Type"], type, "the type of \(method)")
                            try context.equal(received.body, [], "the body of \(method)")
                        }
                    }
                }
            },
            Behaviour("bodies", .corelibs("test_requestWithNonEmptyBody")) { context in
                let server = try await context.serve()
                let body = Data("a body of a request".utf8)
                for method in ["PUT", "POST", "DELETE", "GET", "HEAD"] {
                    for type in ["text/plain; charset=utf-8", nil] {
                        let fields = type.map { ["Content-Type": $0] } ?? [:]
                        let recorder = Recorder()
                        let request = try server.request("echo", method, fields: fields, body: body)
                        context.session(recorder).dataTask(with: request).resume()
                        let error = try await recorder.completed.value()
                        guard method != "GET" else {
                            try context.code(error, .dataLengthExceedsMaximum, "error of GET")
                            try context.equal(recorder.record.callbacks, ["complete"], "the list of callbacks of GET")
                            continue
                        }
                        try context.check(error == nil, "\(method) failed: \(String(describing: error))")
                        let expected = ["sent", "response"] + (method == "HEAD" ? [] : ["data"]) + ["complete"]
                        try context.equal(recorder.record.callbacks, expected, "the list of callbacks of \(method)")
                        let received = try server.last()
                        try context.equal(received.body, Array(body), "the body of \(method)")
                        let form = method == "POST" ? "application/x-www-form-urlencoded" : nil
                        try context.equal(received["Content-Type"], type ?? form, "the type of \(method)")
                        if method != "HEAD" { try context.equal(recorder.record.data, body, "the echo of \(method)") }
                    }
                }
            },
            Behaviour("postWithoutBody", .corelibs("test_postWithEmptyBody")) { context in
                let server = try await context.serve()
                let outcome = try await context.session().outcome(of: try server.request("hello", "POST"))
                try context.equal(outcome.status, 200, "the status")
                try context.equal(try server.last()["Content-Type"], nil, "the type")
            },
        ]
    }
}

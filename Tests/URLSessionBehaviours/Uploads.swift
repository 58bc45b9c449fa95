// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// Upload tasks and bodies.
    static var uploads: [Behaviour] {
        [
            Behaviour("uploadTaskFromData", .corelibs("test_simpleUploadWithDelegate")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let body = Data(StandardRoutes.pattern.bytes(0..<16_384))
                context.session(recorder).uploadTask(with: try server.request("hello", "PUT"), from: body).resume()
                let record = try await recorder.success()
                try context.equal(record.sent.last?.total, Int64(body.count), "the number of sent bytes")
                try context.check(Data(try server.last().body) == body, "the received body differs")
            },
            Behaviour("bodyRedirectedBy303", .corelibs("test_dataTaskWithHTTPBodyRedirect")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let request = try server.request("status/303?to=/hello", "POST", body: Data("a=b".utf8))
                context.session(recorder).dataTask(with: request).resume()
                let record = try await recorder.success()
                try context.equal(record.text, StandardRoutes.hello, "the content")
                let methods = server.requests.map(\.method)
                try context.equal(methods, ["POST", "GET"], "the list of methods")
                try context.equal(try server.last().body, [], "the second body")
            },
            Behaviour("uploadTaskFromFile", .apple("uploadTask(with:fromFile:)")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let body = StandardRoutes.pattern.bytes(0..<3_000_000)
                let file = try context.file("source", body)
                let request = try server.request("hello", "PUT")
                let task = context.session(recorder).uploadTask(with: request, fromFile: file)
                task.resume()
                let record = try await recorder.success()
                try context.check(try server.last().body == body, "the received body differs")
                try context.equal(try server.last()["Content-Length"], "3000000", "the length")
                let totals = record.sent.map(\.total)
                try context.check(totals == totals.sorted(), "the progress decreases")
                try context.equal(totals.last, 3_000_000, "the number of sent bytes")
                try context.equal(Set(record.sent.map(\.expected)), [3_000_000], "the expected length")
                try context.equal(task.countOfBytesSent, 3_000_000, "countOfBytesSent")
            },
            Behaviour("uploadTaskWithHandler", .apple("uploadTask(with:from:completionHandler:)")) { context in
                let server = try await context.serve()
                let body = Data("a body".utf8)
                let done = Expectation<Outcome>("call of the completion handler")
                let request = try server.request("echo", "POST", fields: ["Content-Type": "text/plain"])
                let task = context.session()
                    .uploadTask(with: request, from: body) { data, response, error in
                        done.fulfill(Outcome(data: data, response: response, error: error))
                    }
                task.resume()
                let outcome = try await done.value()
                try context.equal(outcome.data, body, "the response")
            },
            Behaviour("uploadOfMissingFile", .apple("URLError.Code.fileDoesNotExist")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let file = URL(fileURLWithPath: context.directory.path("missing"))
                let request = try server.request("hello", "PUT")
                context.session(recorder).uploadTask(with: request, fromFile: file).resume()
                let error = try await recorder.completed.value()
                try context.check(error != nil, "the task succeeded")
            },
        ]
    }

    /// Bodies from streams.
    static var streamedBodies: [Behaviour] {
        [
            Behaviour("httpBodyStream", .corelibs("test_dataTaskWithHttpInputStream")) { context in
                let server = try await context.serve()
                let body = Data(StandardRoutes.pattern.bytes(0..<2_000))
                for method in ["PUT", "POST", "DELETE", "GET", "HEAD"] {
                    for type in ["text/plain; charset=utf-8", nil] {
                        var request = try server.request("echo", method, fields: ["Transfer-Encoding": "chunked"])
                        if let type { request.setValue(type, forHTTPHeaderField: "Content-Type") }
                        request.httpBodyStream = InputStream(data: body)
                        let recorder = Recorder()
                        context.session(recorder).dataTask(with: request).resume()
                        let error = try await recorder.completed.value()
                        guard method != "GET" else {
                            try context.code(error, .dataLengthExceedsMaximum, "error of GET")
                            continue
                        }
                        try context.check(error == nil, "\(method) failed: \(String(describing: error))")
                        let expected = ["sent", "response"] + (method == "HEAD" ? [] : ["data"]) + ["complete"]
                        try context.equal(recorder.record.callbacks, expected, "the list of callbacks of \(method)")
                        try context.check(
                            Data(try server.last().body) == body,
                            "the received body of \(method) differs"
                        )
                        let form = method == "POST" ? "application/x-www-form-urlencoded" : nil
                        try context.equal(try server.last()["Content-Type"], type ?? form, "the type of \(method)")
                    }
                }
            },
            Behaviour("uploadTaskFromStream", .corelibs("test_simpleUploadWithDelegateProvidingInputStream")) {
                context in
                let server = try await context.serve()
                let body = Data(StandardRoutes.pattern.bytes(0..<16_384))
                for method in ["PUT", "POST", "DELETE", "GET", "HEAD"] {
                    var decisions = Recorder.Decisions()
                    decisions.body = { InputStream(data: body) }
                    let recorder = Recorder(decisions)
                    let request = try server.request("echo", method)
                    context.session(recorder).uploadTask(withStreamedRequest: request).resume()
                    let error = try await recorder.completed.value()
                    guard method != "GET" else {
                        try context.code(error, .dataLengthExceedsMaximum, "error of GET")
                        try context.equal(recorder.record.callbacks, ["stream", "complete"], "the list of callbacks")
                        continue
                    }
                    try context.check(error == nil, "\(method) failed: \(String(describing: error))")
                    let expected = ["stream", "sent", "response"] + (method == "HEAD" ? [] : ["data"]) + ["complete"]
                    try context.equal(recorder.record.callbacks, expected, "the list of callbacks of \(method)")
                    try context.equal(recorder.record.sent.last?.total, 16_384, "the number of sent bytes of \(method)")
                    try context.check(Data(try server.last().body) == body, "the received body of \(method) differs")
                    let form = method == "POST" ? "application/x-www-form-urlencoded" : nil
                    try context.equal(try server.last()["Content-Type"], form, "the type of \(method)")
                }
            },
            Behaviour("streamIsRequestedAgain", .apple("urlSession(_:task:needNewBodyStream:)")) { context in
                // The body is sent again after a challenge.
                let server = try await context.serve { request in
                    request["Authorization"] == nil
                        ? .response(401, [("WWW-Authenticate", "Basic realm=\"the realm\"")])
                        : .response(200, [("Content-Type", "text/plain")], body: request.body)
                }
                let body = Data(StandardRoutes.pattern.bytes(0..<16_384))
                var decisions = Recorder.Decisions()
                decisions.body = { InputStream(data: body) }
                decisions.challenge = { _ in
                    (.useCredential, URLCredential(user: "user", password: "passwd", persistence: .none))
                }
                let recorder = Recorder(decisions)
                let request = try server.request("private", "PUT")
                context.session(recorder).uploadTask(withStreamedRequest: request).resume()
                let record = try await recorder.success()
                try context.equal(record.callbacks.filter { $0 == "stream" }.count, 2, "the number of streams")
                try context.check(record.data == body, "the response differs")
            },
        ]
    }
}

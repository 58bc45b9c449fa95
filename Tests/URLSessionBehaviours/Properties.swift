// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// Properties of tasks.
    static var properties: [Behaviour] {
        [
            Behaviour("taskRequests", .apple("URLSessionTask.currentRequest")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let task = context.session(recorder).dataTask(with: try server.url("redirect/1"))
                task.resume()
                _ = try await recorder.success()
                try context.equal(task.originalRequest?.url, try server.url("redirect/1"), "originalRequest")
                try context.equal(task.currentRequest?.url, try server.url("hello"), "currentRequest")
                try context.equal((task.response as? HTTPURLResponse)?.statusCode, 200, "the response's status")
                try context.equal(task.response?.url, try server.url("hello"), "the response's URL")
                try context.check(task.error == nil, "there is an error")
                try await context.eventually("the state is completed") { task.state == .completed }
            },
            Behaviour("taskByteCounts", .apple("URLSessionTask.countOfBytesReceived")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let session = context.session(recorder)
                let body = Data(StandardRoutes.pattern.bytes(0..<50_000))
                let task = session.uploadTask(with: try server.request("file", "PUT"), from: body)
                task.resume()
                _ = try await recorder.success()
                try context.equal(task.countOfBytesExpectedToSend, 50_000, "countOfBytesExpectedToSend")
                try context.equal(task.countOfBytesSent, 50_000, "countOfBytesSent")
                try context.equal(
                    task.countOfBytesExpectedToReceive,
                    StandardRoutes.fileLength,
                    "countOfBytesExpectedToReceive"
                )
                try await context.eventually("countOfBytesReceived is the length") {
                    task.countOfBytesReceived == StandardRoutes.fileLength
                }
            },
            Behaviour("taskIdentifiers", .apple("URLSessionTask.taskIdentifier")) { context in
                let server = try await context.serve()
                let session = context.session()
                let tasks = try (0..<5).map { _ in session.dataTask(with: try server.url("hello")) }
                try context.equal(Set(tasks.map(\.taskIdentifier)).count, 5, "the number of identifiers")
                tasks[0].taskDescription = "the first"
                try context.equal(tasks[0].taskDescription, "the first", "taskDescription")
                try context.equal(tasks[1].taskDescription, nil, "another task's description")
                try context.equal(tasks[0].priority, URLSessionTask.defaultPriority, "the priority")
                tasks[0].priority = URLSessionTask.highPriority
                try context.equal(tasks[0].priority, URLSessionTask.highPriority, "the changed priority")
            },
        ]
    }

    /// Progress and metrics.
    static var observation: [Behaviour] {
        [
            Behaviour("progress", .apple("URLSessionTask.progress")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let task = context.session(recorder).downloadTask(with: try server.url("file"))
                task.resume()
                _ = try await recorder.success()
                try await context.eventually("fractionCompleted is 1") { task.progress.fractionCompleted == 1 }
                try context.check(task.progress.isFinished, "the progress is not finished")
            },
            Behaviour("progressDuringTransfer", .apple("URLSessionTask.progress")) { context in
                let server = try await context.serve { request in
                    var file = ServedFile(StandardRoutes.pattern, length: 1_000_000)
                    file.interruption = .stallAfter(500_000)
                    return .file(file, request)
                }
                let recorder = Recorder()
                let task = context.session(recorder).downloadTask(with: try server.url("file"))
                task.resume()
                try await context.eventually("half the file is received") { task.countOfBytesReceived == 500_000 }
                try await context.eventually("fractionCompleted is about 0.5 at half the file") {
                    (0.4...0.6).contains(task.progress.fractionCompleted)
                }
            },
            Behaviour("progressCancelsTask", .apple("ProgressReporting")) { context in
                let server = try await context.serve { _ in Reply([.stall]) }
                let recorder = Recorder()
                let task = context.session(recorder).dataTask(with: try server.url("silent"))
                task.resume()
                await server.server.waitForRequests(1)
                task.progress.cancel()
                try context.code(try await recorder.completed.value(within: 3), .cancelled)
            },
            Behaviour("metrics", .apple("urlSession(_:task:didFinishCollecting:)")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                context.session(recorder).dataTask(with: try server.url("redirect/1")).resume()
                _ = try await recorder.success()
                let metrics = try await recorder.measured.value(within: 2)
                try context.equal(metrics.redirectCount, 1, "redirectCount")
                try context.equal(metrics.transactionMetrics.count, 2, "the number of transactions")
                let last = try context.unwrap(metrics.transactionMetrics.last, "transaction")
                try context.equal((last.response as? HTTPURLResponse)?.statusCode, 200, "the status")
                try context.equal(last.resourceFetchType, .networkLoad, "resourceFetchType")
                let request = try context.unwrap(last.requestStartDate, "requestStartDate")
                let response = try context.unwrap(last.responseEndDate, "responseEndDate")
                try context.check(request <= response, "the response ends before the request starts")
                try context.check(metrics.taskInterval.duration > 0, "the task's interval is empty")
            },
        ]
    }
}

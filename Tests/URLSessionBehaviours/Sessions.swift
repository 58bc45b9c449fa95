// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// A server that never replies.
    private static func silent(_ context: BehaviourContext) async throws -> BehaviourServer {
        try await context.serve { _ in Reply([.stall]) }
    }

    private static func allTasks(_ session: URLSession) async throws -> [URLSessionTask] {
        let listed = Expectation<[URLSessionTask]>("call of the handler of getAllTasks")
        session.getAllTasks { listed.fulfill($0) }
        return try await listed.value()
    }

    /// Cancelling, suspending and resuming tasks.
    static var cancellation: [Behaviour] {
        [
            Behaviour("cancelTask", .corelibs("test_cancelTask")) { context in
                let server = try await Self.silent(context)
                let recorder = Recorder()
                let task = context.session(recorder).dataTask(with: try server.url("silent"))
                task.resume()
                await server.server.waitForRequests(1)
                task.cancel()
                try context.code(try await recorder.completed.value(), .cancelled)
                try context.code(task.error, .cancelled, "task's error")
                try context.equal(recorder.record.callbacks, ["complete"], "the list of callbacks")
                try await context.eventually("the state is completed") { task.state == .completed }
            },
            Behaviour("suspensionsAreCounted", .corelibs("test_suspendResumeTask")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let task = context.session(recorder).dataTask(with: try server.url("hello"))
                try context.equal(task.state, .suspended, "the state of a new task")
                task.suspend()
                task.suspend()
                try context.equal(task.state, .suspended, "the state after two suspensions")
                task.resume()
                task.resume()
                try await recorder.completed.doesNotHappen(within: 0.3)
                try context.equal(server.requests.count, 0, "the number of requests after two resumptions")
                task.resume()
                try context.equal(try await recorder.success().status, 200, "the status")
                task.resume()
                try context.equal(server.requests.count, 1, "the number of requests")
            },
            Behaviour("cancelledTaskIsNotResumed", .corelibs("test_cancelledTasksCannotBeResumed")) { context in
                let server = try await context.serve()
                let session = context.session()
                let task = session.dataTask(with: try server.url("hello"))
                task.cancel()
                task.resume()
                try context.equal(try await Self.allTasks(session).count, 0, "the number of tasks")
                let completed = try await session.outcome(of: try server.request("hello"))
                try context.equal(completed.status, 200, "the status of another task")
                try context.equal(server.requests.count, 1, "the number of requests")
            },
            Behaviour("suspendedTransferStops", .apple("URLSessionTask.suspend()")) { context in
                // A suspended task produces no network traffic; what is in flight may still be delivered.
                let server = try await context.serve { request in
                    var file = ServedFile(StandardRoutes.pattern, length: StandardRoutes.fileLength)
                    file.rate = 200_000
                    return .file(file, request)
                }
                let recorder = Recorder()
                let task = context.session(recorder).downloadTask(with: try server.url("file"))
                task.resume()
                try await recorder.progressed.value()
                task.suspend()
                try context.equal(task.state, .suspended, "the state")
                // The rest would take less than 1.5 seconds.
                try await recorder.completed.doesNotHappen(within: 2.2)
                task.resume()
                try Self.checkContent(try await recorder.success().contentAtFinish, context)
            },
        ]
    }

    /// Lists of tasks, and the end of sessions.
    static var sessions: [Behaviour] {
        [
            Behaviour("finishTasksAndInvalidate", .corelibs("test_finishTasksAndInvalidate")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let session = context.session(recorder)
                let done = Expectation<Outcome>("call of the completion handler")
                let task = session.dataTask(with: try server.url("hello")) { data, response, error in
                    done.fulfill(Outcome(data: data, response: response, error: error))
                }
                task.resume()
                session.finishTasksAndInvalidate()
                try context.equal(try await done.value().text, StandardRoutes.hello, "the content")
                try context.check(try await recorder.invalidated.value() == nil, "the invalidation has an error")
            },
            Behaviour("invalidationCancelsTasks", .corelibs("test_checkErrorTypeAfterInvalidateAndCancel")) { context in
                let server = try await Self.silent(context)
                let session = context.session(Recorder())
                let done = Expectation<Outcome>("call of the completion handler")
                let url = try server.url("silent")
                let task = session.dataTask(with: url) { data, response, error in
                    done.fulfill(Outcome(data: data, response: response, error: error))
                }
                task.resume()
                session.invalidateAndCancel()
                let error = try await done.value().error
                try context.code(error, .cancelled)
                let values = (error as? URLError)?.userInfo ?? [:]
                try context.equal(values[NSURLErrorFailingURLErrorKey] as? URL, url, "the error's URL")
                try context.equal(
                    values["NSErrorFailingURLStringKey"] as? String,
                    url.absoluteString,
                    "the error's text of the URL"
                )
                try context.equal(error?.localizedDescription, "cancelled", "the description")
            },
            Behaviour("noTasksAfterInvalidation", .corelibs("test_taskCountAfterInvalidateAndCancel")) { context in
                let server = try await Self.silent(context)
                let session = context.session()
                let tasks = try (0..<3).map { session.dataTask(with: try server.url("\($0)")) }
                tasks[0].resume()
                tasks[1].resume()
                session.invalidateAndCancel()
                try context.equal(try await Self.allTasks(session).count, 0, "the number of tasks")
                tasks[2].resume()
                try context.equal(try await Self.allTasks(session).count, 0, "the number of tasks after resume")
            },
            Behaviour("delegateReleasedByInvalidation", .corelibs("test_sessionDelegateAfterInvalidateAndCancel")) {
                context in
                let recorder = Recorder()
                let session = context.session(recorder)
                try context.check(session.delegate === recorder, "the session has another delegate")
                session.invalidateAndCancel()
                _ = try await recorder.invalidated.value()
                // The reference is removed after the callback.
                try await context.eventually("the session has no delegate") { session.delegate == nil }
            },
            Behaviour("getAllTasks", .corelibs("test_getAllTasks")) { context in
                let server = try await Self.silent(context)
                let session = context.session()
                let tasks = try (0..<3).map { session.dataTask(with: try server.url("\($0)")) }
                try context.equal(try await Self.allTasks(session).count, 0, "the number of tasks before")
                tasks[0].cancel()
                tasks[1].resume()
                tasks[1].suspend()
                // Suspended before it was resumed, the third task needs two resumptions.
                tasks[2].suspend()
                try context.equal(try await Self.allTasks(session), [tasks[1]], "the list of tasks")
                tasks[2].resume()
                try context.equal(try await Self.allTasks(session), [tasks[1]], "the list after one resumption")
                tasks[2].resume()
                let last = try await Self.allTasks(session)
                try context.equal(Set(last), [tasks[1], tasks[2]], "the list after two resumptions")
            },
            Behaviour("getTasks", .corelibs("test_getTasksWithCompletion")) { context in
                let server = try await Self.silent(context)
                let session = context.session()
                let data = try (0..<3).map { session.dataTask(with: try server.url("\($0)")) }
                let uploads = try (3..<5)
                    .map {
                        session.uploadTask(with: try server.request("\($0)", "PUT"), from: Data("a".utf8))
                    }
                let download = session.downloadTask(with: try server.url("5"))
                let before = Expectation<[Int]>("call of the handler of getTasksWithCompletionHandler")
                session.getTasksWithCompletionHandler { before.fulfill([$0.count, $1.count, $2.count]) }
                try context.equal(try await before.value(), [0, 0, 0], "the numbers before")
                data[0].cancel()
                data[1].resume()
                data[2].resume()
                data[2].suspend()
                uploads[0].suspend()
                uploads[1].resume()
                download.cancel()
                let after = Expectation<[Int]>("call of the handler of getTasksWithCompletionHandler")
                session.getTasksWithCompletionHandler { after.fulfill([$0.count, $1.count, $2.count]) }
                try context.equal(try await after.value(), [2, 1, 0], "the numbers after")
            },
            Behaviour("tasksAsynchronously", .apple("URLSession.allTasks, URLSession.tasks")) { context in
                #if FOUNDATION_SESSION
                throw BehaviourFailure.doesNotCompile("URLSession.allTasks")
                #else
                let server = try await Self.silent(context)
                let session = context.session()
                let task = session.downloadTask(with: try server.url("silent"))
                task.resume()
                try context.equal(await session.allTasks, [task], "allTasks")
                let (data, uploads, downloads) = await session.tasks
                try context.equal([data.count, uploads.count, downloads.count], [0, 0, 1], "tasks")
                #endif
            },
            Behaviour("resetAndFlush", .apple("URLSession.reset(completionHandler:)")) { context in
                let server = try await context.serve()
                let configuration = URLSessionConfiguration.ephemeral
                let session = context.session(configuration: configuration)
                _ = try await session.outcome(of: try server.request("cookie"))
                let flushed = Expectation<Void>("call of the handler of flush")
                session.flush { flushed.fulfill() }
                try await flushed.value()
                try context.equal(configuration.httpCookieStorage?.cookies?.count, 1, "the number of cookies")
                let reset = Expectation<Void>("call of the handler of reset")
                session.reset { reset.fulfill() }
                try await reset.value()
                try context.equal(configuration.httpCookieStorage?.cookies?.count, 0, "the number after reset")
                let outcome = try await session.outcome(of: try server.request("hello"))
                try context.equal(outcome.status, 200, "the status after reset")
            },
        ]
    }
}

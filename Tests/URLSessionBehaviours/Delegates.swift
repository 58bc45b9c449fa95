// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import Synchronization
import TransferTesting

extension Behaviour {
    /// Queues, lifetimes and decisions of delegates.
    static var delegates: [Behaviour] {
        [
            Behaviour("callbacksOnDelegateQueue", .apple("URLSession.delegateQueue")) { context in
                let server = try await context.serve()
                let queue = OperationQueue()
                queue.maxConcurrentOperationCount = 1
                queue.name = "the queue of the case"
                let others = Mutex<[String]>([])
                var decisions = Recorder.Decisions()
                decisions.observe = { name in
                    if OperationQueue.current !== queue { others.withLock { $0.append(name) } }
                }
                let recorder = Recorder(decisions)
                let session = context.session(recorder, queue: queue)
                try context.check(session.delegateQueue === queue, "delegateQueue is another queue")
                session.dataTask(with: try server.url("hello")).resume()
                _ = try await recorder.success()
                let done = Expectation<Bool>("call of the completion handler")
                session.dataTask(with: try server.url("hello")) { _, _, _ in
                    done.fulfill(OperationQueue.current === queue)
                }
                .resume()
                try context.check(try await done.value(), "the completion handler is called on another queue")
                try context.equal(others.withLock { $0 }, [], "the list of callbacks on another queue")
            },
            Behaviour("defaultQueueIsSerial", .apple("init(configuration:delegate:delegateQueue:)")) { context in
                // Without a queue, the session creates a serial one for all calls.
                let server = try await context.serve()
                let running = Atomic<Int>(0)
                let overlaps = Atomic<Int>(0)
                var decisions = Recorder.Decisions()
                decisions.observe = { _ in
                    if running.add(1, ordering: .sequentiallyConsistent).oldValue > 0 {
                        overlaps.add(1, ordering: .sequentiallyConsistent)
                    }
                    // Long enough for another thread.
                    sched_yield()
                    running.subtract(1, ordering: .sequentiallyConsistent)
                }
                let recorder = Recorder(decisions)
                let session = context.session(recorder)
                try context.equal(session.delegateQueue.maxConcurrentOperationCount, 1, "the queue's limit")
                for _ in 0..<8 { session.downloadTask(with: try server.url("file")).resume() }
                try await context.eventually("eight completions") { recorder.completed.values.count == 8 }
                let count = overlaps.load(ordering: .sequentiallyConsistent)
                try context.equal(count, 0, "the number of overlapping callbacks")
            },
            Behaviour("delegateRetained", .apple("URLSession.delegate")) { context in
                // The session keeps a strong reference to its delegate until it is invalidated.
                let server = try await context.serve()
                weak var delegate: Recorder?
                let session: URLSession
                do {
                    let recorder = Recorder()
                    delegate = recorder
                    session = context.session(recorder)
                    session.dataTask(with: try server.url("hello")).resume()
                    _ = try await recorder.success()
                }
                // The calls that follow the first task's are made.
                try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                    session.flush { done.resume() }
                }
                try context.check(delegate != nil, "the delegate is released before the invalidation")
                session.finishTasksAndInvalidate()
                try await context.eventually("the delegate is released") { delegate == nil }
            },
            Behaviour("taskDelegate", .apple("URLSessionTask.delegate")) { context in
                let server = try await context.serve()
                let (ofSession, ofTask) = (Recorder(), Recorder())
                let task = context.session(ofSession).dataTask(with: try server.url("redirect/1"))
                task.delegate = ofTask
                task.resume()
                let record = try await ofTask.success()
                try context.equal(
                    record.callbacks,
                    ["redirect", "response", "data", "complete"],
                    "the task's callbacks"
                )
                try context.equal(ofSession.record.callbacks, [], "the list of the session's callbacks")
            },
            Behaviour("responseCancelled", .apple("URLSession.ResponseDisposition.cancel")) { context in
                let server = try await context.serve()
                var decisions = Recorder.Decisions()
                decisions.response = { _ in .cancel }
                let recorder = Recorder(decisions)
                context.session(recorder).dataTask(with: try server.url("file")).resume()
                try context.code(try await recorder.completed.value(), .cancelled)
                try context.equal(recorder.record.callbacks, ["response", "complete"], "the list of callbacks")
            },
        ]
    }

    /// Loading by a custom URLProtocol.
    static var customProtocols: [Behaviour] {
        [
            Behaviour(
                "failingProtocolCompletesOnce",
                .corelibs("test_noDoubleCallbackWhenCancellingAndProtocolFailsFast")
            ) {
                context in
                let url = try context.unwrap(URL(string: "failing://nowhere"), "URL")
                let session = context.session(Recorder()) { $0.protocolClasses = [FailingProtocol.self] }
                let again = Expectation<Void>("second call of the completion handler")
                let done = Expectation<Outcome>("call of the completion handler")
                let task = session.dataTask(with: url) { data, response, error in
                    if !done.values.isEmpty { again.fulfill() }
                    done.fulfill(Outcome(data: data, response: response, error: error))
                }
                task.resume()
                session.invalidateAndCancel()
                let error = try await done.value().error
                try context.check(error != nil, "there is no error")
                if let error = error as? URLError { try context.equal(error.code, .cancelled, "the error's code") }
                try await again.doesNotHappen(within: 0.5)
                try context.equal(done.values.count, 1, "the number of calls of the completion handler")
            }
        ]
    }
}

/// A protocol of which every load fails at once.
private final class FailingProtocol: URLProtocol {
    private struct Failure: Error {}

    override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "failing" }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() { self.client?.urlProtocol(self, didFailWithError: Failure()) }

    override func stopLoading() {}
}

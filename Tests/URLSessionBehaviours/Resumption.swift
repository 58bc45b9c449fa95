// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    private static let resumeDataKey = "NSURLSessionDownloadTaskResumeData"

    /// A server whose first reply stops after a part, and a session with a download of it, of which a part is there.
    private static func partial(
        _ context: BehaviourContext,
        _ recorder: Recorder,
        change: ServedFile.Change? = nil
    ) async throws -> (BehaviourServer, URLSession, URLSessionDownloadTask) {
        let server = try await context.serve { request in
            var file = ServedFile(StandardRoutes.pattern, length: StandardRoutes.fileLength)
            file.interruption = .stallAfter(200_000)
            file.interruptedResponses = 1
            file.change = change
            return .file(file, request)
        }
        let session = context.session(recorder)
        let task = session.downloadTask(with: try server.url("file"))
        task.resume()
        try await recorder.progressed.value()
        return (server, session, task)
    }

    /// Downloads that continue where they ended.
    static var resumption: [Behaviour] {
        [
            Behaviour("cancelProducesResumeData", .apple("cancel(byProducingResumeData:)")) { context in
                let recorder = Recorder()
                let (_, _, task) = try await Self.partial(context, recorder)
                let produced = Expectation<Data?>("call of the handler of resume data")
                task.cancel(byProducingResumeData: { produced.fulfill($0) })
                let data = try context.unwrap(try await produced.value(), "resume data")
                try context.check(!data.isEmpty, "the resume data are empty")
                let error = try await recorder.completed.value()
                try context.code(error, .cancelled)
                // The delegate's error has them too.
                let stored = (error as? URLError)?.userInfo[Self.resumeDataKey] as? Data
                try context.check(stored != nil, "the error has no resume data")
            },
            Behaviour("resumesAfterCancel", .apple("downloadTask(withResumeData:)")) { context in
                let recorder = Recorder()
                let (server, session, task) = try await Self.partial(context, recorder)
                let produced = Expectation<Data?>("call of the handler of resume data")
                task.cancel(byProducingResumeData: { produced.fulfill($0) })
                let data = try context.unwrap(try await produced.value(), "resume data")
                let second = Recorder()
                let resumed = context.session(second).downloadTask(withResumeData: data)
                resumed.resume()
                let record = try await second.success()
                try Self.checkContent(record.contentAtFinish, context)
                let range = try context.unwrap(try server.last()["Range"], "Range in the second request")
                try context.check(range.hasPrefix("bytes=") && range != "bytes=0-", "the range is \(range)")
                try context.check(try server.last()["If-Range"] != nil, "there is no If-Range in the second request")
                try context.equal(record.resumedOffsets.count, 1, "the number of calls of didResumeAtOffset")
                try context.check(record.resumedOffsets.first ?? 0 > 0, "the download resumed at 0")
                session.invalidateAndCancel()
            },
            Behaviour("resumesAfterLostConnection", .apple("NSURLSessionDownloadTaskResumeData")) { context in
                let server = try await context.serve { request in
                    var file = ServedFile(StandardRoutes.pattern, length: StandardRoutes.fileLength)
                    file.interruption = .closeAfter(200_000)
                    file.interruptedResponses = 1
                    return .file(file, request)
                }
                let destination = URL(fileURLWithPath: context.directory.path("file"))
                let session = context.session()
                let outcome = try await session.download(try server.request("file"), to: destination)
                let error = try context.unwrap(outcome.error as? URLError, "URLError")
                let data = try context.unwrap(error.userInfo[Self.resumeDataKey] as? Data, "resume data in the error")
                let done = Expectation<Outcome>("call of the completion handler")
                let resumed = session.downloadTask(withResumeData: data) { file, response, error in
                    done.fulfill(Outcome.moving(file, to: destination, response, error))
                }
                resumed.resume()
                try Self.checkContent(try await done.value().data, context)
                try context.check(try server.last()["Range"] != nil, "the second request has no Range")
            },
            Behaviour("restartsWhenFileChanged", .apple("Pausing and resuming downloads")) { context in
                let change = ServedFile.Change.after(1, TestPattern(seed: 9), length: 250_000, entityTag: "\"v2\"")
                let (_, _, task) = try await Self.partial(context, Recorder(), change: change)
                let produced = Expectation<Data?>("call of the handler of resume data")
                task.cancel(byProducingResumeData: { produced.fulfill($0) })
                let data = try context.unwrap(try await produced.value(), "resume data")
                let second = Recorder()
                context.session(second).downloadTask(withResumeData: data).resume()
                let record = try await second.success()
                let expected = Data(TestPattern(seed: 9).bytes(0..<250_000))
                try context.check(record.contentAtFinish == expected, "the file is not the new one")
            },
            Behaviour("resumesAsynchronously", .apple("download(resumeFrom:delegate:)")) { context in
                #if FOUNDATION_SESSION
                throw BehaviourFailure.doesNotCompile("cancelByProducingResumeData(), download(resumeFrom:)")
                #else
                let (server, session, task) = try await Self.partial(context, Recorder())
                let data = try context.unwrap(await task.cancelByProducingResumeData(), "resume data")
                let (file, _) = try await session.download(resumeFrom: data)
                try Self.checkContent(try? Data(contentsOf: file), context)
                try context.check(try server.last()["Range"] != nil, "the second request has no Range")
                #endif
            },
        ]
    }
}

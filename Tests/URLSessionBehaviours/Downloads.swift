// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// Download tasks.
    static var downloads: [Behaviour] {
        [
            Behaviour("downloadTaskWithURL", .corelibs("test_downloadTaskWithURL")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                context.session(recorder).downloadTask(with: try server.url("file")).resume()
                try Self.checkFile(try await recorder.success(), context)
            },
            Behaviour("downloadTaskWithRequest", .corelibs("test_downloadTaskWithURLRequest")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                context.session(recorder).downloadTask(with: try server.request("file")).resume()
                try Self.checkFile(try await recorder.success(), context)
            },
            Behaviour("downloadTaskWithRequestAndHandler", .corelibs("test_downloadTaskWithRequestAndHandler")) {
                context in
                let server = try await context.serve()
                let request = try server.request("file")
                for (index, session) in [URLSession.shared, context.session()].enumerated() {
                    let destination = URL(fileURLWithPath: context.directory.path("file\(index)"))
                    let outcome = try await session.download(request, to: destination)
                    try context.succeeded(outcome)
                    try Self.checkContent(outcome.data, context)
                }
            },
            Behaviour("downloadTaskWithURLAndHandler", .corelibs("test_downloadTaskWithURLAndHandler")) { context in
                let server = try await context.serve()
                let destination = URL(fileURLWithPath: context.directory.path("file"))
                let done = Expectation<Outcome>("call of the completion handler")
                let task = context.session()
                    .downloadTask(with: try server.url("file")) { file, response, error in
                        done.fulfill(Outcome.moving(file, to: destination, response, error))
                    }
                task.resume()
                let outcome = try await done.value()
                try context.succeeded(outcome)
                try Self.checkContent(outcome.data, context)
            },
            Behaviour("gzippedDownload", .corelibs("test_gzippedDownloadTask")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                context.session(recorder).downloadTask(with: try server.url("gzip")).resume()
                let record = try await recorder.success()
                try context.equal(record.contentAtFinish, Data(StandardRoutes.zipped.utf8), "the file")
                let length = Int64(StandardRoutes.zipped.utf8.count)
                try context.equal(record.written.last?.total, length, "the number of written bytes")
            },
            Behaviour("invalidResumeData", .corelibs("test_invalidResumeDataForDownloadTask")) { context in
                let done = Expectation<Outcome>("call of the completion handler")
                let task = URLSession.shared.downloadTask(withResumeData: Data()) { file, response, error in
                    done.fulfill(Outcome(file: file, response: response, error: error))
                }
                task.resume()
                let outcome = try await done.value()
                try context.check(outcome.file == nil && outcome.response == nil, "there is a response")
                try context.code(outcome.error, .unsupportedURL)
                let recorder = Recorder()
                context.session(recorder).downloadTask(withResumeData: Data()).resume()
                try context.code(try await recorder.completed.value(), .unsupportedURL, "delegate's error")
            },
            Behaviour("downloadedFileIsTemporary", .apple("downloadTask(with:completionHandler:)")) {
                context in
                // The file must be moved before the completion handler returns, otherwise it is deleted.
                let server = try await context.serve()
                let done = Expectation<URL?>("call of the completion handler")
                let task = context.session()
                    .downloadTask(with: try server.url("file")) { file, _, _ in
                        done.fulfill(file.flatMap { FileManager.default.fileExists(atPath: $0.path) ? $0 : nil })
                    }
                task.resume()
                let file = try context.unwrap(try await done.value(), "file in the completion handler")
                try await context.eventually("the file is deleted") {
                    !FileManager.default.fileExists(atPath: file.path)
                }
            },
            Behaviour("downloadOfErrorPage", .apple("Downloading files from websites")) { context in
                // A status is not an error: the page is the file, and the response has the status.
                let server = try await context.serve()
                let destination = URL(fileURLWithPath: context.directory.path("page"))
                let outcome = try await context.session().download(try server.request("nowhere"), to: destination)
                try context.succeeded(outcome)
                try context.equal(outcome.status, 404, "the status")
                try context.equal(outcome.text, "nothing at /nowhere", "the file")
            },
            Behaviour("downloadProgress", .apple("urlSession(_:downloadTask:didWriteData:…)")) { context in
                let server = try await context.serve { request in
                    var file = ServedFile(StandardRoutes.pattern, length: StandardRoutes.fileLength)
                    file.framing = request.path == "/chunked" ? .chunked : .length
                    return .file(file, request)
                }
                for (path, expected) in [("known", StandardRoutes.fileLength), ("chunked", -1)] {
                    let recorder = Recorder()
                    context.session(recorder).downloadTask(with: try server.url(path)).resume()
                    let record = try await recorder.success()
                    let totals = record.written.map(\.total)
                    try context.equal(totals.last, StandardRoutes.fileLength, "the number of written bytes")
                    try context.check(totals == totals.sorted(), "the progress of \(path) decreases")
                    let lengths = Set(record.written.map(\.expected))
                    try context.equal(lengths, [expected], "the expected length of \(path)")
                }
            },
            Behaviour("dataTaskBecomesDownload", .apple("URLSession.ResponseDisposition.becomeDownload")) { context in
                let server = try await context.serve()
                var decisions = Recorder.Decisions()
                #if FOUNDATION_SESSION
                // The case has a deprecation: "doesn't currently support turning responses into downloads".
                let becomeDownload = try context.unwrap(URLSession.ResponseDisposition(rawValue: 2), "disposition")
                #else
                let becomeDownload = URLSession.ResponseDisposition.becomeDownload
                #endif
                decisions.response = { _ in becomeDownload }
                let recorder = Recorder(decisions)
                context.session(recorder).dataTask(with: try server.url("file")).resume()
                _ = try await recorder.converted.value()
                let record = try await recorder.success()
                try Self.checkContent(record.contentAtFinish, context)
                try context.check(!record.callbacks.contains("data"), "data were delivered")
            },
        ]
    }

    private static func checkFile(_ record: Recorder.Record, _ context: BehaviourContext) throws {
        try context.equal(record.callbacks, ["written", "finish", "complete"], "the list of callbacks")
        try context.equal(record.sizeAtFinish, record.written.last?.total, "the file's size")
        try self.checkContent(record.contentAtFinish, context)
    }

    static func checkContent(_ data: Data?, _ context: BehaviourContext) throws {
        let data = try context.unwrap(data, "file")
        let expected = StandardRoutes.pattern.bytes(0..<StandardRoutes.fileLength)
        try context.equal(data.count, expected.count, "the file's size")
        try context.check(data == Data(expected), "the file's content differs")
    }
}

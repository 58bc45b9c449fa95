// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// Sessions that outlive the process.
    static var background: [Behaviour] {
        [
            Behaviour("backgroundDownload", .apple("background(withIdentifier:)")) { context in
                #if FOUNDATION_SESSION
                throw BehaviourFailure.doesNotCompile("URLSessionConfiguration.background(withIdentifier:)")
                #else
                let server = try await context.serve()
                let configuration = URLSessionConfiguration.background(withIdentifier: "org.example.downloads")
                try context.equal(configuration.identifier, "org.example.downloads", "the identifier")
                let recorder = Recorder()
                let session = context.session(recorder, configuration: configuration)
                session.downloadTask(with: try server.url("file")).resume()
                try Self.checkContent(try await recorder.success().contentAtFinish, context)
                #endif
            },
            Behaviour("earliestBeginDate", .apple("URLSessionTask.earliestBeginDate")) { context in
                #if FOUNDATION_SESSION
                throw BehaviourFailure.doesNotCompile("URLSessionConfiguration.background(withIdentifier:)")
                #else
                // Tasks of background sessions transfer no data before this date.
                let server = try await context.serve()
                let recorder = Recorder()
                let configuration = URLSessionConfiguration.background(withIdentifier: "org.example.later")
                let session = context.session(recorder, configuration: configuration)
                let task = session.downloadTask(with: try server.url("file"))
                task.earliestBeginDate = Date(timeIntervalSinceNow: 1)
                task.resume()
                try await recorder.completed.doesNotHappen(within: 0.5)
                try context.equal(server.requests.count, 0, "the number of requests before the date")
                try Self.checkContent(try await recorder.success().contentAtFinish, context)
                #endif
            },
            Behaviour("backgroundSessionFoundAgain", .apple("Downloading files in the background")) { context in
                #if FOUNDATION_SESSION
                throw BehaviourFailure.doesNotCompile("URLSessionConfiguration.background(withIdentifier:)")
                #else
                let server = try await context.serve { request in
                    var file = ServedFile(StandardRoutes.pattern, length: StandardRoutes.fileLength)
                    file.rate = 100_000
                    return .file(file, request)
                }
                try await Self.firstLaunch(try server.url("file"), until: server)
                // The next launch of the same program.
                let recorder = Recorder()
                let session = context.session(recorder, configuration: .background(withIdentifier: Self.identifier))
                let listed = Expectation<[URLSessionTask]>("call of the handler of getAllTasks")
                session.getAllTasks { listed.fulfill($0) }
                let tasks = try await listed.value()
                if recorder.completed.values.isEmpty {
                    try context.equal(tasks.map(\.taskDescription), ["the download"], "the list of descriptions")
                }
                try Self.checkContent(try await recorder.success().contentAtFinish, context)
                #endif
            },
            Behaviour("delayedTaskFoundAgain", .apple("URLSessionTask.earliestBeginDate")) { context in
                #if FOUNDATION_SESSION
                throw BehaviourFailure.doesNotCompile("URLSessionConfiguration.background(withIdentifier:)")
                #else
                // A program that has ended before the date has lost nothing.
                let server = try await context.serve()
                let date = Date(timeIntervalSinceNow: 3)
                let process = try Self.launch(try server.url("file"), date)
                try await process.ended.value()
                try context.equal(server.requests.count, 0, "the number of requests before the date")
                let recorder = Recorder()
                let session = context.session(recorder, configuration: .background(withIdentifier: Self.identifier))
                session.getAllTasks { _ in }
                try Self.checkContent(try await recorder.success().contentAtFinish, context)
                try context.check(Date() >= date, "the task began before its date")
                #endif
            },
        ]
    }
}

#if !FOUNDATION_SESSION
extension Behaviour {
    private static let identifier = "org.example.relaunch"

    /// Starts this program once more, which starts a download in the background, and kills it during the transfer.
    private static func firstLaunch(_ url: URL, until server: BehaviourServer) async throws {
        let process = try Self.launch(url, nil)
        await server.server.waitForRequests(1)
        kill(process.number, SIGKILL)
        try await process.ended.value()
    }

    private static func launch(_ url: URL, _ date: Date?) throws -> (number: pid_t, ended: Expectation<Void>) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let date = date.map { ["\($0.timeIntervalSince1970)"] } ?? []
        process.arguments = ["--background-launch", url.absoluteString] + date
        let ended = Expectation<Void>("end of the first launch")
        process.terminationHandler = { _ in ended.fulfill() }
        try process.run()
        return (process.processIdentifier, ended)
    }

    /// The first launch of the program: starts a download in the background, and waits for its end; if it is to begin at a
    /// time, in seconds since 1970, it ends at once.
    static func launchInBackground(_ text: String, _ seconds: String?) async throws {
        guard let url = URL(string: text) else { throw BehaviourFailure("no URL: \(text)") }
        let recorder = Recorder()
        let configuration = URLSessionConfiguration.background(withIdentifier: self.identifier)
        let session = URLSession(configuration: configuration, delegate: recorder, delegateQueue: nil)
        let task = session.downloadTask(with: url)
        task.taskDescription = "the download"
        task.earliestBeginDate = seconds.flatMap { Double($0) }.map { Date(timeIntervalSince1970: $0) }
        task.resume()
        if seconds != nil { return }
        _ = try await recorder.completed.value(within: 20)
    }
}
#endif

// SPDX-License-Identifier: Apache-2.0
import Foundation
#if MARTLET
import MartletURLSession
#else
import FoundationNetworking
#endif

/// The scenarios of QueuedURLDownloader: failures of the article's screen.
enum QueueScenarios {
    private struct Ends {
        var finished: [String: Data] = [:]
        var calls = 0
        var failures: [any Error] = []
        var ending = ""
    }

    private final class Screen: QueuedURLDownloaderDelegate {
        let ends = Watched(Ends())

        func didFinishLoading(_ data: Data, withUserInfo info: [String: String]) {
            self.ends.change {
                $0.finished[info["picture"] ?? ""] = data
                $0.calls += 1
            }
        }

        func downloadDidFail(withError error: any Error, withUserInfo info: [String: String]) {
            self.ends.change { $0.failures.append(error) }
        }

        func didAllCompleted() { self.ends.change { $0.ending += "completed" } }
        func dowloadCanceled() { self.ends.change { $0.ending += "canceled" } }
    }

    /// Each URL twice, before and after the start, and one whose server does not listen.
    @Sendable
    static func twice(_ place: Place) throws {
        let screen = Screen()
        let downloader = QueuedURLDownloader(maxAtSameTime: 3)
        downloader.delegate = screen
        for number in 1...10 {
            if number == 5 { downloader.start() }
            for copy in ["a", "b"] {
                downloader.addURL(place.url("plain/\(number)"), withUserInfo: ["picture": "\(number)\(copy)"])
            }
        }
        guard let refused = URL(string: "http://127.0.0.1:1/") else { throw Failure("no URL") }
        downloader.addURL(refused, withUserInfo: ["picture": "refused"])
        downloader.finishQueuing()
        try screen.ends.wait("end") { $0.ending == "completed" }
        downloader.waitCompleted()
        let ends = screen.ends.value
        guard ends.calls == 20, ends.finished.count == 20, ends.failures.count == 1 else {
            throw Failure("\(ends.calls) pictures, \(ends.failures.count) failures")
        }
        for number in 1...10 {
            let picture = try place.served("\(number)")
            guard ends.finished["\(number)a"] == picture, ends.finished["\(number)b"] == picture else {
                throw Failure("picture \(number) has other bytes")
            }
        }
    }

    /// The screen closes while pictures are loading: it requests the stop and waits on the main thread.
    @Sendable
    static func leave(_ place: Place) throws {
        let screen = Screen()
        let downloader = QueuedURLDownloader(maxAtSameTime: 3)
        downloader.delegate = screen
        for number in 1...10 {
            let path = number <= 4 ? "plain/\(number)" : "half/\(number)"
            downloader.addURL(place.url(path), withUserInfo: ["picture": "\(number)"])
        }
        downloader.start()
        try screen.ends.wait("fourth picture") { $0.calls == 4 }
        downloader.requireStopping()
        try screen.ends.wait("end") { $0.ending == "canceled" }
        downloader.waitCompleted()
        let ends = screen.ends.value
        let codes = ends.failures.map { ($0 as? URLError)?.code }
        // The one in the fourth's place may not have been started.
        guard downloader.isCompleted, ends.calls == 4, 2...3 ~= codes.count, codes.allSatisfy({ $0 == .cancelled })
        else {
            throw Failure("\(ends.calls) pictures, failures: \(codes)")
        }
    }
}

/// The scenarios of FileQ: uploads of a program that is killed.
enum UploadScenarios {
    private static func uploader(_ place: Place) -> FileQUploader {
        FileQUploader(uploadURL: place.server, sessionID: "7c1f")
    }

    /// The program is killed right after `resume`.
    @Sendable
    static func killedAtOnce(_ place: Place) throws {
        _ = self.uploader(place).upload(place.work.appendingPathComponent("photo.bin"))
        kill(getpid(), SIGKILL)
    }

    /// The program is killed when the first bytes were sent: the server reads no more for now.
    @Sendable
    static func killedSending(_ place: Place) throws {
        let uploader = self.uploader(place)
        let progress = Watched((sent: Int64(0), expected: Int64(0)))
        uploader.progressHandler = { sent, expected in progress.change { $0 = (sent, expected) } }
        _ = uploader.upload(place.work.appendingPathComponent("photo.bin"))
        let found = try progress.wait("progress") { $0.sent > 0 }
        guard found.sent < found.expected else { throw Failure("all bytes were sent") }
        kill(getpid(), SIGKILL)
    }

    /// Six uploads, two at once.
    @Sendable
    static func two(_ place: Place) throws {
        let uploader = FileQUploader(uploadURL: place.url("upload"), sessionID: "7c1f")
        uploader.maximumAtOnce = 2
        let ends = Watched<[String]>([])
        uploader.completionHandler = { response, error in
            ends.change { $0.append(error.map { "\($0)" } ?? "\((response as? HTTPURLResponse)?.statusCode ?? 0)") }
        }
        for number in 1...6 { _ = uploader.upload(place.files.appendingPathComponent("\(number)")) }
        let found = try ends.wait("end of six uploads") { $0.count == 6 }
        guard Set(found) == ["201"] else { throw Failure("the ends are \(found)") }
        let peak = try SessionScenarios.text(place.url("peak"))
        guard peak == "2" else { throw Failure("\(peak) uploads at once") }
    }

    /// The next run of the program gets the end of the upload, once.
    @Sendable
    static func events(_ place: Place) throws {
        let uploader = self.uploader(place)
        let ends = Watched<[String]>([])
        uploader.completionHandler = { response, error in
            let status = (response as? HTTPURLResponse)?.statusCode
            ends.change { $0.append(error.map { "\($0)" } ?? "\(status ?? 0)") }
        }
        uploader.allEventsHandler = { ends.change { $0.append("all") } }
        _ = uploader.session
        // The end is one of the events if the upload has ended before, and follows them otherwise.
        let found = try ends.wait("end of the upload") { Set($0).isSuperset(of: ["201", "all"]) }
        guard found.count == 2 else { throw Failure("the events are \(found)") }
    }
}

/// The scenarios of the comparison: failures of the article's three screens.
enum SessionScenarios {
    private struct Ends {
        var files: [String] = []
        var errors: [any Error] = []
        var completed = 0
        var written: Int64 = 0
    }

    /// Ten tasks, five connections, and a timeout that is shorter than the time that the second five wait.
    @Sendable
    static func ten(_ place: Place) throws {
        let ends = Watched(Ends())
        let downloads = TenDownloads()
        downloads.fileHandler = { task, location in
            let name = task.originalRequest?.url?.lastPathComponent ?? ""
            let isEqual = (try? place.check(location, is: name)) != nil
            ends.change { $0.files.append(isEqual ? "right" : "wrong") }
        }
        downloads.completionHandler = { _, error in
            ends.change {
                if let error { $0.errors.append(error) }
                $0.completed += 1
            }
        }
        let session = downloads.makeSession(timeout: 1)
        downloads.startTasks((1...10).map { place.url("slow/\($0)") }, in: session)
        try ends.wait("end of ten tasks", seconds: 20) { $0.completed == 10 }
        let found = ends.value
        let right = found.files.filter { $0 == "right" }.count
        let timeouts = found.errors.filter { ($0 as? URLError)?.code == .timedOut }.count
        guard right == 10 else { throw Failure("\(right) of 10 files, \(timeouts) timeouts") }
        let peak = try self.text(place.url("peak"))
        guard peak == "5" else { throw Failure("\(peak) connections at once") }
    }

    /// Stop by `cancel(byProducingResumeData:)`, and continue.
    @Sendable
    static func stopAndContinue(_ place: Place) throws {
        let ends = Watched(Ends())
        let downloads = TenDownloads()
        downloads.progressHandler = { _, total, _ in ends.change { $0.written = total } }
        downloads.fileHandler = { _, location in
            let isEqual = (try? place.check(location, is: "big")) != nil
            ends.change { $0.files.append(isEqual ? "right" : "wrong") }
        }
        let download = ResumableDownload(session: downloads.makeSession(timeout: 10))
        download.start(place.url("half/big"))
        try ends.wait("progress") { $0.written > 100_000 }
        let stopped = Watched(false)
        download.stop { stopped.change { $0 = true } }
        try stopped.wait("resume data") { $0 }
        guard download.continueDownload() else { throw Failure("the resume data are nil") }
        let found = try ends.wait("file") { !$0.files.isEmpty }
        guard found.files == ["right"] else { throw Failure("the file has other bytes") }
        let ranges = try self.text(place.url("ranges"))
        guard ranges.hasPrefix("none bytes="), !ranges.hasPrefix("none bytes=0-") else {
            throw Failure("requested: \(ranges)")
        }
    }

    /// A download that is left to the background, and the program that is started again for its events.
    @Sendable
    static func background(_ place: Place) throws {
        let app = BackgroundApp(destination: place.work.appendingPathComponent("image"))
        guard let identifier = ProcessInfo.processInfo.environment["MARTLET_SESSION"] else {
            app.backgroundSession.downloadTask(with: place.url("gate/big")).resume()
            // The script kills the program.
            while true { pause() }
        }
        let calls = Watched(0)
        app.application(handleEventsForBackgroundURLSession: identifier) { calls.change { $0 += 1 } }
        try calls.wait("call of the completion handler") { $0 == 1 }
        try Data("launched again\n".utf8).write(to: place.work.appendingPathComponent("launched"), options: .atomic)
    }

    static func text(_ url: URL) throws -> String {
        let accessor = UCURLAccessor()
        guard accessor.getContentOfURLSynchronously(url, referer: nil), let data = accessor.contentData else {
            throw Failure("\(url): \(accessor.errorMessage ?? "")")
        }
        return String(decoding: data, as: UTF8.self)
    }
}

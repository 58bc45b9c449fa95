// SPDX-License-Identifier: Apache-2.0
import Foundation
#if MARTLET
import MartletURLSession
#else
import FoundationNetworking
#endif

/// The scenarios of UCURLAccessor: fetches that may block forever; the script then ends the program.
enum AccessorScenarios {
    /// On the main thread: a page, a page that does not exist, and a server that does not listen.
    @Sendable
    static func main(_ place: Place) throws {
        let accessor = UCURLAccessor()
        guard accessor.getContentOfURLSynchronously(place.url("plain/1"), referer: "http://example.com/"),
            try accessor.contentData == place.served("1")
        else { throw Failure("no content: \(accessor.errorMessage ?? "")") }
        guard !accessor.getContentOfURLSynchronously(place.url("plain/missing"), referer: nil),
            accessor.errorMessage == "HTTP status 404", accessor.contentData == nil
        else { throw Failure("a page that does not exist: \(accessor.errorMessage ?? "no message")") }
        guard let refused = URL(string: "http://127.0.0.1:1/"),
            !accessor.getContentOfURLSynchronously(refused, referer: nil), accessor.errorMessage?.isEmpty == false
        else { throw Failure("a server that does not listen has no message") }
    }

    /// A page that requires a password, which the program does not have.
    @Sendable
    static func password(_ place: Place) throws {
        let accessor = UCURLAccessor()
        guard !accessor.getContentOfURLSynchronously(place.url("private"), referer: nil),
            accessor.errorMessage == "HTTP status 401"
        else { throw Failure("the message is \(accessor.errorMessage ?? "nil")") }
    }

    /// A server that sends a byte now and then, without an end.
    @Sendable
    static func trickle(_ place: Place) throws {
        let accessor = UCURLAccessor(resourceTimeout: 2)
        guard !accessor.getContentOfURLSynchronously(place.url("trickle"), referer: nil),
            accessor.errorMessage?.isEmpty == false
        else { throw Failure("the fetch succeeded") }
    }

    /// Swift tasks that block every thread of their pool.
    @Sendable
    static func tasks(_ place: Place) throws {
        let count = 2 * ProcessInfo.processInfo.activeProcessorCount
        let results = Watched<[Bool]>([])
        for _ in 0..<count {
            Task {
                let accessor = UCURLAccessor()
                let isFetched = accessor.getContentOfURLSynchronously(place.url("plain/1"), referer: nil)
                results.change { $0.append(isFetched) }
            }
        }
        let found = try results.wait("end of \(count) tasks") { $0.count == count }
        guard found.allSatisfy({ $0 }) else { throw Failure("the results are \(found)") }
    }

    /// A fetch in the handler of another one.
    @Sendable
    static func handler(_ place: Place) throws {
        let result = Watched<Bool?>(nil)
        let outer = UCURLAccessor()
        outer.getContentOfURL(place.url("plain/1"), referer: nil) { _ in
            let isFetched = UCURLAccessor().getContentOfURLSynchronously(place.url("plain/2"), referer: nil)
            result.change { $0 = isFetched }
        } errorHandler: { _ in
            result.change { $0 = false }
        }
        guard try result.wait("result", until: { $0 != nil }) == true else { throw Failure("no content") }
    }
}

/// The scenarios of QSPDownloadTool: interrupted downloads.
enum ListScenarios {
    private struct Facts {
        var written: [String: Int64] = [:]
        var finished: [String] = []
        var failed: [String] = []
    }

    private final class Screen: QSPDownloadToolDelegate, QSPDownloadSourceDelegate {
        let facts = Watched(Facts())

        func downloadToolDidFinish(_ tool: QSPDownloadTool, downloadSource source: QSPDownloadSource) {
            self.facts.change { $0.finished.append(source.location.lastPathComponent) }
        }

        func downloadSource(_ source: QSPDownloadSource, changedStyle style: QSPDownloadSourceStyle) {
            if style == .fail { self.facts.change { $0.failed.append(source.location.lastPathComponent) } }
        }

        func downloadSource(
            _ source: QSPDownloadSource,
            didWriteData data: Data,
            totalBytesWritten: Int64,
            totalBytesExpectedToWrite: Int64
        ) {
            self.facts.change { $0.written[source.location.lastPathComponent] = totalBytesWritten }
        }
    }

    /// The bytes of `big` that the server sends before it waits.
    private static let half: Int64 = 1_000_000

    /// Adds a download that has its delegate before the first event.
    @discardableResult
    private static func add(_ url: URL, to tool: QSPDownloadTool, for screen: Screen) -> QSPDownloadSource {
        tool.session.delegateQueue.isSuspended = true
        defer { tool.session.delegateQueue.isSuspended = false }
        let source = tool.addDownloadTast(url, andOffLine: true)
        source.delegate = screen
        return source
    }

    private static func suspendAtHalf(_ place: Place, _ path: String) throws -> (QSPDownloadTool, Screen) {
        let tool = QSPDownloadTool(directory: place.work)
        let screen = Screen()
        tool.delegate = screen
        let source = self.add(place.url(path), to: tool, for: screen)
        try screen.facts.wait("half of the file") { $0.written["big"] == self.half }
        tool.suspendDownload(source)
        tool.continueDownload(source)
        // A response that waits may continue, too.
        _ = try SessionScenarios.text(place.url("open"))
        return (tool, screen)
    }

    /// Suspended at half of the file, and continued.
    @Sendable
    static func suspended(_ place: Place) throws {
        let (tool, screen) = try self.suspendAtHalf(place, "half/big")
        let found = try screen.facts.wait("end") { !$0.finished.isEmpty || !$0.failed.isEmpty }
        guard found.finished == ["big"], tool.downloadSources.isEmpty else { throw Failure("the download failed") }
        try place.check(place.work.appendingPathComponent("big"), is: "big")
    }

    /// Suspended at half of the file, which then changes on the server.
    ///
    /// The download may fail. A finished file must not have bytes of both versions.
    @Sendable
    static func changed(_ place: Place) throws {
        let (_, screen) = try self.suspendAtHalf(place, "changed/big")
        let found = try screen.facts.wait("end") { !$0.finished.isEmpty || !$0.failed.isEmpty }
        guard found.finished == ["big"] else { return }
        let file = place.work.appendingPathComponent("big")
        do { try place.check(file, is: "big") } catch { try place.check(file, is: "big.new") }
    }

    /// One download ends while another one is on its way.
    @Sendable
    static func ends(_ place: Place) throws {
        let tool = QSPDownloadTool(directory: place.work)
        let screen = Screen()
        tool.delegate = screen
        for path in ["gate/big", "plain/1", "plain/2"] {
            self.add(place.url(path), to: tool, for: screen)
        }
        try screen.facts.wait("small file") { Set($0.finished) == ["1", "2"] }
        _ = try SessionScenarios.text(place.url("open"))
        try screen.facts.wait("large file") { $0.finished.last == "big" }
        for name in ["1", "2", "big"] { try place.check(place.work.appendingPathComponent(name), is: name) }
    }

    /// The program is killed when half of the file is there.
    @Sendable
    static func firstRun(_ place: Place) throws {
        let tool = QSPDownloadTool(directory: place.work)
        let screen = Screen()
        self.add(place.url("half/big"), to: tool, for: screen)
        try screen.facts.wait("half of the file") { $0.written["big"] == self.half }
        kill(getpid(), SIGKILL)
    }

    /// The next run finds the list, and continues it.
    @Sendable
    static func secondRun(_ place: Place) throws {
        let tool = QSPDownloadTool(directory: place.work)
        let screen = Screen()
        tool.delegate = screen
        guard tool.downloadSources.count == 1 else { throw Failure("the list is lost") }
        for source in tool.downloadSources {
            source.delegate = screen
            tool.continueDownload(source)
        }
        let found = try screen.facts.wait("end") { !$0.finished.isEmpty || !$0.failed.isEmpty }
        guard found.finished == ["big"] else { throw Failure("the download failed") }
        try place.check(place.work.appendingPathComponent("big"), is: "big")
        let ranges = try SessionScenarios.text(place.url("ranges"))
        guard ranges == "bytes=0- bytes=\(self.half)-" else { throw Failure("requested: \(ranges)") }
    }

    /// The design that the article rejected: the program is killed during a download task.
    @Sendable
    static func tasksFirstRun(_ place: Place) throws {
        let tool = QSPDownloadTaskTool(directory: place.work)
        let written = Watched<Int64>(0)
        tool.progressHandler = { total in written.change { $0 = total } }
        tool.addDownloadTast(place.url("replaced/big"))
        try written.wait("progress") { $0 > 100_000 }
        kill(getpid(), SIGKILL)
    }

    /// The next run gets the file, which has changed on the server in the meantime.
    @Sendable
    static func tasksSecondRun(_ place: Place) throws {
        let tool = QSPDownloadTaskTool(directory: place.work)
        let files = Watched<[URL]>([])
        tool.finishHandler = { file in files.change { $0.append(file) } }
        _ = tool.session
        let found = try files.wait("file") { !$0.isEmpty }
        try place.check(found[0], is: "big.new")
    }
}

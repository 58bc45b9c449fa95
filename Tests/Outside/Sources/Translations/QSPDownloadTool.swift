// SPDX-License-Identifier: Apache-2.0
import Foundation
#if MARTLET
import MartletURLSession
#else
import FoundationNetworking
#endif

/// The states of a download.
enum QSPDownloadSourceStyle: Int, Codable, Sendable {
    case down
    case suspend
    case stop
    case finished
    case fail
}

/// A row of the list.
protocol QSPDownloadSourceDelegate: AnyObject {
    func downloadSource(_ source: QSPDownloadSource, changedStyle style: QSPDownloadSourceStyle)
    func downloadSource(
        _ source: QSPDownloadSource,
        didWriteData data: Data,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )
}

// `@unchecked Sendable`: the tool's lock guards the variables.
/// One download of the list; what is coded is archived.
final class QSPDownloadSource: Codable, @unchecked Sendable {
    let netPath: URL
    let location: URL
    let offLine: Bool
    fileprivate(set) var style = QSPDownloadSourceStyle.down
    fileprivate(set) var totalBytesWritten: Int64 = 0
    fileprivate(set) var totalBytesExpectedToWrite: Int64 = 0
    weak var delegate: (any QSPDownloadSourceDelegate)?
    fileprivate var task: URLSessionDataTask?
    fileprivate var fileHandle: FileHandle?

    private enum CodingKeys: String, CodingKey {
        case netPath
        case location
        case offLine
        case style
    }

    init(netPath: URL, location: URL, offLine: Bool) {
        self.netPath = netPath
        self.location = location
        self.offLine = offLine
    }
}

/// A screen with the list.
protocol QSPDownloadToolDelegate: AnyObject {
    func downloadToolDidFinish(_ tool: QSPDownloadTool, downloadSource source: QSPDownloadSource)
}

// `@unchecked Sendable`: the lock guards the list and its sources.
/// Keeps a list of downloads, which is archived in the directory of their files.
final class QSPDownloadTool: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    weak var delegate: (any QSPDownloadToolDelegate)?
    private let directory: URL
    private let lock = NSRecursiveLock()
    private var sources: [QSPDownloadSource] = []

    lazy var session = URLSession(
        configuration: .background(withIdentifier: "QSPDownloadTool"),
        delegate: self,
        delegateQueue: nil
    )

    init(directory: URL) {
        self.directory = directory
        super.init()
        self.unarchive()
    }

    var downloadSources: [QSPDownloadSource] { self.lock.withLock { self.sources } }

    func addDownloadTast(_ netPath: URL, andOffLine offLine: Bool) -> QSPDownloadSource {
        let location = self.directory.appendingPathComponent(netPath.lastPathComponent)
        let source = QSPDownloadSource(netPath: netPath, location: location, offLine: offLine)
        self.lock.withLock {
            self.sources.append(source)
            self.archive()
        }
        self.startDownload(source)
        return source
    }

    // snippet: translation-list
    private func startDownload(_ source: QSPDownloadSource) {
        self.lock.withLock {
            FileManager.default.createFile(ifMissing: source.location)
            source.fileHandle = try? FileHandle(forWritingTo: source.location)
            source.totalBytesWritten = Int64((try? source.fileHandle?.seekToEnd()) ?? 0)
            var request = URLRequest(url: source.netPath)
            request.setValue("bytes=\(source.totalBytesWritten)-", forHTTPHeaderField: "Range")
            source.task = self.session.dataTask(with: request)
            source.task?.resume()
            self.change(source, to: .down)
        }
    }

    func continueDownload(_ source: QSPDownloadSource) {
        guard let task = source.task else { return self.startDownload(source) }
        task.resume()
        self.change(source, to: .down)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let source = self.source(of: dataTask) else { return }
        try? source.fileHandle?.write(contentsOf: data)
        self.lock.withLock { source.totalBytesWritten += Int64(data.count) }
        self.didWrite(data, source)
    }
    // end

    func suspendDownload(_ source: QSPDownloadSource) {
        source.task?.suspend()
        self.change(source, to: .suspend)
    }

    func stopDownload(_ source: QSPDownloadSource) {
        self.change(source, to: .stop)
        source.task?.cancel()
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard let source = self.source(of: dataTask), status == 200 || status == 206 else {
            return completionHandler(.cancel)
        }
        self.lock.withLock {
            if status == 200 {
                // The server does not continue: the file restarts.
                try? source.fileHandle?.truncate(atOffset: 0)
                source.totalBytesWritten = 0
            }
            source.totalBytesExpectedToWrite = source.totalBytesWritten + response.expectedContentLength
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let source = self.source(of: task) else { return }
        try? source.fileHandle?.close()
        self.lock.withLock {
            source.fileHandle = nil
            source.task = nil
            if source.style == .down || source.style == .suspend {
                self.change(source, to: error == nil ? .finished : .fail)
            }
            guard source.style == .finished else { return }
            self.sources.removeAll { $0 === source }
            self.archive()
        }
        if source.style == .finished { self.delegate?.downloadToolDidFinish(self, downloadSource: source) }
    }

    private func source(of task: URLSessionTask) -> QSPDownloadSource? {
        self.lock.withLock { self.sources.first { $0.task === task } }
    }

    private func change(_ source: QSPDownloadSource, to style: QSPDownloadSourceStyle) {
        self.lock.withLock {
            source.style = style
            self.archive()
        }
        source.delegate?.downloadSource(source, changedStyle: style)
    }

    private func didWrite(_ data: Data, _ source: QSPDownloadSource) {
        source.delegate?
            .downloadSource(
                source,
                didWriteData: data,
                totalBytesWritten: source.totalBytesWritten,
                totalBytesExpectedToWrite: source.totalBytesExpectedToWrite
            )
    }

    // MARK: The archive

    private var archiveURL: URL { self.directory.appendingPathComponent("QSPDownloadTool.plist") }

    private func archive() {
        let offLine = self.sources.filter(\.offLine)
        try? PropertyListEncoder().encode(offLine).write(to: self.archiveURL, options: .atomic)
    }

    private func unarchive() {
        guard let data = try? Data(contentsOf: self.archiveURL) else { return }
        self.sources = (try? PropertyListDecoder().decode([QSPDownloadSource].self, from: data)) ?? []
    }
}

// `@unchecked Sendable`: the handlers are set before the first download.
/// The design that the article tried first: download tasks, whose bytes it could not keep when the program exits.
final class QSPDownloadTaskTool: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    private let directory: URL
    var progressHandler: (Int64) -> Void = { _ in }
    var finishHandler: (URL) -> Void = { _ in }

    lazy var session = URLSession(
        configuration: .background(withIdentifier: "QSPDownloadTaskTool"),
        delegate: self,
        delegateQueue: nil
    )

    init(directory: URL) { self.directory = directory }

    // snippet: translation-list-tasks
    func addDownloadTast(_ netPath: URL) {
        let task = self.session.downloadTask(with: netPath)
        task.taskDescription = netPath.lastPathComponent
        task.resume()
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        let file = self.directory.appendingPathComponent(downloadTask.taskDescription ?? "file")
        do { try FileManager.default.moveItem(at: location, to: file) } catch { print("not moved: \(error)") }
        self.finishHandler(file)
    }
    // end

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        self.progressHandler(totalBytesWritten)
    }
}

extension FileManager {
    fileprivate func createFile(ifMissing url: URL) {
        guard !self.fileExists(atPath: url.path) else { return }
        _ = self.createFile(atPath: url.path, contents: nil)
    }
}

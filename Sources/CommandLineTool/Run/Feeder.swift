// SPDX-License-Identifier: Apache-2.0
import Datasets
import Platform
import Synchronization
import TransferCore
import TransferEngine

/// Adds requests to the engine, no faster than it consumes them.
///
/// Runs on a separate thread, because reading a list may block.
final class Feeder: Sendable {
    /// The number of waiting requests among which the engine can choose.
    static let window = 1024
    /// The maximum number of waiting requests, when most of them wait for hosts that are held or busy.
    static let limit = 16_384

    private let engine: TransferEngine
    private let mailbox: EventMailbox
    private let options: SharedOptions
    private let dataset: DatasetRun?
    private let onlyExamines: Bool
    private let stopped = Atomic<Bool>(false)
    private let ended = Atomic<Bool>(false)

    /// Creates a feeder.
    ///
    /// - Parameters:
    ///   - engine: Gets the requests.
    ///   - mailbox: Gets the faults of lists.
    ///   - options: The options of all requests.
    ///   - dataset: The run of a table, or `nil`.
    ///   - onlyExamines: Whether files are only asked about.
    init(
        engine: TransferEngine,
        mailbox: EventMailbox,
        options: DownloadOptions,
        dataset: DatasetRun? = nil,
        onlyExamines: Bool = false
    ) {
        self.onlyExamines = onlyExamines
        self.engine = engine
        self.mailbox = mailbox
        self.options = SharedOptions(options)
        self.dataset = dataset
    }

    /// Whether the last request has been added.
    var isComplete: Bool { self.ended.load(ordering: .relaxed) }

    /// Stops adding requests.
    func stop() { self.stopped.store(true, ordering: .relaxed) }

    /// Adds all requests and closes the engine.
    func feed(_ plan: GetPlan) {
        switch plan.sources {
        case .urls(let urls):
            for url in urls where self.ready() {
                self.add(DownloadRequest([url], name: plan.name, expected: plan.expected, options: self.options))
            }
        case .mirrors(let urls):
            self.add(DownloadRequest(urls, name: plan.name, expected: plan.expected, options: self.options))
        case .file(let path): self.feed(file: path)
        case .table: if let dataset = self.dataset { self.feed(dataset) }
        }
        self.ended.store(true, ordering: .relaxed)
        self.engine.close()
    }

    /// Adds an upload.
    func send(_ request: UploadRequest) {
        guard self.ready() else { return }
        do {
            try self.engine.add(request)
        } catch {
            // The engine is closed before the feeder ends only if the run stops.
            self.stop()
        }
    }

    /// Adds the uploads of the files in a list, one per line.
    func send(listedIn path: String, _ make: (String) throws(BadValue) -> UploadRequest) {
        var number = 0
        self.read(path) { line, shown in
            guard let line, self.ready() else { return false }
            number += 1
            guard case .text(let bytes) = line else {
                self.mailbox.take(InputFault(line: number, message: "the line is too long"), file: shown)
                return true
            }
            guard !bytes.isEmpty else { return true }
            do throws(BadValue) {
                self.send(try make(String(decoding: bytes, as: UTF8.self)))
            } catch {
                self.mailbox.take(InputFault(line: number, message: error.description), file: shown)
            }
            return true
        }
    }

    /// Closes the engine after the last upload.
    func endSending() {
        self.ended.store(true, ordering: .relaxed)
        self.engine.close()
    }

    /// Reads a list line by line, and reports if it cannot be read.
    ///
    /// - Parameters:
    ///   - path: The list's path, or `-` for standard input.
    ///   - take: Called with each line, `nil` at the end, and the list's display name; returns whether to continue.
    private func read(_ path: String, _ take: (LineReader.Line?, String) -> Bool) {
        let isStandardInput = path == "-"
        let shown = isStandardInput ? "standard input" : DisplayText.clean(path)
        let descriptor = isStandardInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = "it cannot be opened: \(String(cString: strerror(errno))); check the name of --input-file"
            return self.mailbox.take(InputFault(line: 0, message: reason), file: shown)
        }
        var reader = LineReader(descriptor: descriptor, closes: !isStandardInput)
        do throws(BadValue) {
            while true {
                let line = try reader.next()
                guard take(line, shown), line != nil else { return }
            }
        } catch {
            self.mailbox.take(InputFault(line: 0, message: error.description), file: shown)
        }
    }

    private func feed(file path: String) {
        var parser = InputFileParser()
        self.read(path) { line, shown in
            for event in line.map({ parser.take($0) }) ?? parser.finish() {
                guard self.ready() else { return false }
                self.take(event, file: shown)
            }
            return true
        }
    }

    private func feed(_ dataset: DatasetRun) {
        let shown = dataset.tableName == "-" ? "standard input" : DisplayText.clean(dataset.tableName)
        var reader = dataset.reader()
        do throws(TableError) {
            while let items = try reader.next() {
                for item in items {
                    guard self.ready() else { return }
                    self.take(item, dataset, file: shown)
                }
            }
        } catch {
            self.mailbox.take(InputFault(line: 0, message: error.message), file: shown)
            dataset.tableFailed()
        }
    }

    private func take(_ item: TableItem, _ dataset: DatasetRun, file: String) {
        switch item {
        case .fault(let row, let line, let message):
            // A line of a report without the number of a row cannot be reported.
            if row.number >= 0 {
                guard let fetch = dataset.take(row) else { return }
                dataset.refuse(fetch, code: DatasetRun.badRow, message)
            }
            self.mailbox.take(InputFault(line: Int(line), message: message, url: row.url), file: file)
        case .row(let row, let line):
            guard let fetch = dataset.take(row) else { return }
            do throws(BadValue) {
                try self.add(fetch, dataset, line: Int(line))
            } catch {
                dataset.refuse(fetch, code: DatasetRun.badRow, error.description)
                self.mailbox.take(InputFault(line: Int(line), message: error.description, url: ""), file: file)
            }
        }
    }

    private func add(_ fetch: DatasetFetch, _ dataset: DatasetRun, line: Int) throws(BadValue) {
        var entry = InputEntry(line: line)
        do throws(HTTPURLError) { entry.urls = [try HTTPURL(fetch.row.url)] } catch { throw BadValue(error.message) }
        // In a shard, a name only suggests the extension.
        if !dataset.writesShards {
            entry.name = try fetch.row.name.map { (name) throws(BadValue) in try FilePath.inside(name) }
        }
        var request = self.request(entry)
        dataset.prepare(&request, for: fetch)
        do throws(EngineError) {
            try self.engine.add(request)
        } catch  where error.code == .closed {
            // The engine is closed before the feeder ends only if the run stops.
            self.stop()
            dataset.interrupt(fetch)
        } catch {
            throw BadValue(error.message)
        }
    }

    private func take(_ event: InputFileParser.Event, file: String) {
        switch event {
        case .entry(let entry): self.add(self.request(entry), line: entry.line, file: file)
        case .fault(let fault): self.mailbox.take(fault, file: file)
        case .warning(let line, let text): self.mailbox.take(warning: "\(file):\(line): \(text)")
        }
    }

    private func request(_ entry: InputEntry) -> DownloadRequest {
        var request = DownloadRequest(
            entry.urls,
            name: entry.name,
            directory: entry.directory,
            expected: entry.expected,
            fields: entry.fields.map { ($0.name, $0.value) },
            options: self.options
        )
        if entry.fields.contains(where: { $0.name.lowercased() == "user-agent" }) {
            request.options.fields.removeAll { $0.0.lowercased() == "user-agent" }
        }
        if let path = entry.name, let slash = path.utf8.lastIndex(of: 0x2F) {
            request.name = String(path[path.utf8.index(after: slash)...])
            request.directory = FilePath.join(entry.directory ?? self.options.options.directory, String(path[..<slash]))
        }
        return request
    }

    private func add(_ request: DownloadRequest, line: Int? = nil, file: String = "") {
        var request = request
        if self.onlyExamines { request.onlyExamine() }
        do {
            try self.engine.add(request)
        } catch  where error.code == .closed {
            // The engine is closed before the feeder ends only if the run stops.
            self.stop()
        } catch {
            let url = request.sources[0].redacted
            self.mailbox.take(InputFault(line: line ?? 0, message: error.message, url: url), file: file)
        }
    }

    /// Waits until another request may be added; returns false if the run stops.
    private func ready() -> Bool {
        while !self.stopped.load(ordering: .relaxed) {
            if self.mailbox.backlog > Self.window || self.dataset?.isBehind == true {
                usleep(20_000)
            } else if !self.engine.needsMore(than: Self.window - 1, limit: Self.limit) {
                self.waitForEngine()
            } else {
                return true
            }
        }
        return false
    }

    private func waitForEngine() {
        let engine = self.engine
        guard let wakeUp = try? WakeUp() else { return }
        Task {
            await engine.waitUntilNeedsMore(than: Self.window / 2, limit: Self.limit)
            wakeUp.wake()
        }
        while !self.stopped.load(ordering: .relaxed), !wakeUp.wait(milliseconds: 500) {}
    }
}

// SPDX-License-Identifier: Apache-2.0
import Control
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
    private let cookies = CookieFiles()
    private let checksums: ChecksumsFetch?
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
    ///   - checksums: The list of the digests of all files, or `nil`.
    ///   - onlyExamines: Whether files are only asked about.
    init(
        engine: TransferEngine,
        mailbox: EventMailbox,
        options: DownloadOptions,
        dataset: DatasetRun? = nil,
        checksums: ChecksumsFetch? = nil,
        onlyExamines: Bool = false
    ) {
        self.checksums = checksums
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
        defer {
            self.ended.store(true, ordering: .relaxed)
            self.engine.close()
        }
        var list: ChecksumList?
        if let checksums, let source = plan.checksums {
            do throws(TransferFailure) {
                list = try checksums.read(source, plan.options, self.engine) {
                    self.stopped.load(ordering: .relaxed)
                }
                if list == nil { return }
            } catch {
                return self.mailbox.take(error, name: source.name)
            }
        }
        switch plan.sources {
        case .urls(let urls):
            for url in urls where self.ready() {
                self.add(self.request([url], plan), verifiedBy: list, isOnly: urls.count == 1)
            }
        case .mirrors(let urls): self.add(self.request(urls, plan), verifiedBy: list, isOnly: true)
        case .file(let path): self.feed(file: path, verifiedBy: list)
        case .table: if let dataset = self.dataset { self.feed(dataset) }
        }
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
    func send(listedIn path: String, _ make: (String) throws(SyntaxError) -> UploadRequest) {
        var number = 0
        self.read(path) { line, shown in
            guard let line, self.ready() else { return false }
            number += 1
            guard case .text(let bytes) = line else {
                self.mailbox.take(InputFault(line: number, message: "the line is too long"), file: shown)
                return true
            }
            guard !bytes.isEmpty else { return true }
            do throws(SyntaxError) {
                self.send(try make(String(decoding: bytes, as: UTF8.self)))
            } catch {
                self.mailbox.take(InputFault(line: number, message: error.description), file: shown)
            }
            return true
        }
    }

    /// Reports a line of a list that cannot be used.
    func refuse(_ fault: InputFault, file: String) { self.mailbox.take(fault, file: file) }

    /// Reports a warning that belongs to no transfer.
    func warn(_ text: String) { self.mailbox.take(warning: text) }

    /// Adds the uploads of the files below a directory, and reports what is not sent.
    func send(_ tree: UploadTree, _ make: (String, [String]) throws(SyntaxError) -> UploadRequest) {
        var tree = tree
        var leftOut = LeftOutFiles()
        while self.ready(), let item = tree.next() {
            switch item {
            case .file(let path, let names):
                do throws(SyntaxError) {
                    self.send(try make(path, names))
                } catch {
                    self.mailbox.take(TransferFailure(.badOption, error.description), name: path)
                }
            case .leftOut(let path, let reason):
                if let line = leftOut.add(path, reason) { self.mailbox.take(warning: line) }
            case .unreadable(let path, let reason):
                self.mailbox.take(TransferFailure(.cannotOpen, "cannot be read: \(reason)"), name: path)
            }
        }
        for line in leftOut.rest { self.mailbox.take(warning: line) }
    }

    /// Closes the engine after the last request of a caller that adds them itself.
    func endSending() {
        self.ended.store(true, ordering: .relaxed)
        self.engine.close()
    }

    /// Reads a list line by line, and reports if it cannot be read.
    ///
    /// - Parameters:
    ///   - path: The list's path, or `-` for standard input.
    ///   - take: Called with each line, `nil` at the end, and the list's display name; returns whether to continue.
    func read(_ path: String, _ take: (LineReader.Line?, String) -> Bool) {
        let isStandardInput = path == "-"
        let shown = isStandardInput ? "standard input" : DisplayText.clean(path)
        let descriptor = isStandardInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = "it cannot be opened: \(String(cString: strerror(errno))); check the name of --input-file"
            return self.mailbox.take(InputFault(line: 0, message: reason), file: shown)
        }
        var reader = LineReader(descriptor: descriptor, closes: !isStandardInput)
        do throws(SyntaxError) {
            while true {
                let line = try reader.next()
                guard take(line, shown), line != nil else { return }
            }
        } catch {
            self.mailbox.take(InputFault(line: 0, message: error.description), file: shown)
        }
    }

    private func feed(file path: String, verifiedBy list: ChecksumList?) {
        var parser = InputFileParser()
        self.read(path) { line, shown in
            for event in line.map({ parser.take($0) }) ?? parser.finish() {
                guard self.ready() else { return false }
                self.take(event, file: shown, verifiedBy: list)
            }
            return true
        }
    }

    private func feed(_ dataset: DatasetRun) {
        let shown = dataset.tableName == "-" ? "standard input" : DisplayText.clean(dataset.tableName)
        var reader = dataset.reader()
        do throws(SyntaxError) {
            while let items = try reader.next() {
                for item in items {
                    guard self.ready() else { return }
                    self.take(item, dataset, file: shown)
                }
            }
            if let reason = reader.reportedRows?.reasonForNone {
                self.mailbox.take(warning: "there is nothing to fetch from the report \(shown): \(reason)")
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
            do throws(SyntaxError) {
                try self.add(fetch, dataset, line: Int(line))
            } catch {
                dataset.refuse(fetch, code: DatasetRun.badRow, error.description)
                self.mailbox.take(InputFault(line: Int(line), message: error.description, url: ""), file: file)
            }
        }
    }

    private func add(_ fetch: DatasetFetch, _ dataset: DatasetRun, line: Int) throws(SyntaxError) {
        var entry = InputEntry(line: line)
        do throws(SyntaxError) { entry.urls = [try HTTPURL(fetch.row.url)] } catch { throw SyntaxError(error.message) }
        // In a shard, a name only suggests the extension.
        if !dataset.writesShards {
            entry.name = try fetch.row.name.map { (name) throws(SyntaxError) in try FilePath.inside(name) }
        }
        var request = try self.request(entry)
        dataset.prepare(&request, for: fetch)
        do throws(EngineError) {
            try self.engine.add(request)
        } catch  where error.code == .closed {
            // The engine is closed before the feeder ends only if the run stops.
            self.stop()
            dataset.interrupt(fetch)
        } catch {
            throw SyntaxError(error.message)
        }
    }

    private func take(_ event: InputFileParser.Event, file: String, verifiedBy list: ChecksumList?) {
        switch event {
        case .entry(let entry):
            do throws(SyntaxError) {
                var request = try self.request(entry)
                request.nameIsExact = entry.name != nil && self.options.options.ifExists != .rename
                self.add(consume request, line: entry.line, file: file, verifiedBy: list)
            } catch {
                let url = entry.urls.first?.redacted ?? ""
                self.mailbox.take(InputFault(line: entry.line, message: error.description, url: url), file: file)
            }
        case .fault(let fault): self.mailbox.take(fault, file: file)
        case .warning(let line, let text): self.mailbox.take(warning: "\(file):\(line): \(text)")
        }
    }

    private func request(_ urls: [HTTPURL], _ plan: GetPlan) -> DownloadRequest {
        var request = DownloadRequest(urls, name: plan.name, expected: plan.expected, options: self.options)
        request.nameIsExact = plan.name != nil && plan.options.ifExists != .rename
        return request
    }

    private func request(_ entry: InputEntry) throws(SyntaxError) -> DownloadRequest {
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
        if !entry.options.isEmpty { try entry.apply(to: &request, self.cookies) }
        return request
    }

    func add(
        _ request: consuming DownloadRequest,
        line: Int? = nil,
        file: String = "",
        verifiedBy list: ChecksumList? = nil,
        isOnly: Bool = false
    ) {
        if self.onlyExamines { request.onlyExamine() }
        // A digest that is given for the file itself needs no line.
        if let list, request.expected.isEmpty, !self.onlyExamines {
            do throws(SyntaxError) {
                request.expected = [try list.digest(of: request.pathsInLists, isOnly: isOnly)]
            } catch {
                let message = DisplayText.clean(error.message) + "; name the file as in the list, or leave it out"
                let url = request.sources[0].redacted
                return self.mailbox.take(InputFault(line: line ?? 0, message: message, url: url), file: file)
            }
        }
        // Read before the request is moved into the engine, because a copy of it is large.
        let source = request.sources[0]
        do {
            try self.engine.add(consume request)
        } catch  where error.code == .closed {
            // The engine is closed before the feeder ends only if the run stops.
            self.stop()
        } catch {
            let url = source.redacted
            let code: TransferFailure.Code = error.code == .nameTaken ? .inUse : .badOption
            self.mailbox.take(InputFault(line: line ?? 0, message: error.message, url: url), file: file, code: code)
        }
    }

    /// Waits until another request may be added; returns false if the run stops.
    func ready() -> Bool {
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

extension DownloadRequest {
    /// What the file may be called in a list of digests: the name that the user has given, and the path of its URL.
    fileprivate var pathsInLists: [String] {
        let path = String(decoding: PercentEncoding.decode(Array(self.sources[0].path.utf8)), as: UTF8.self)
        return (self.name.map { [$0] } ?? []) + [path]
    }
}

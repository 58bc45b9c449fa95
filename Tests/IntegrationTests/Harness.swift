// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Synchronization
import Testing
import FileStorage
import TransferCore
@testable import TransferEngine
import TransferTesting

/// A served file that a test can exchange between two runs.
final class Served: Sendable {
    private let current: Mutex<ServedFile>

    init(_ file: ServedFile) {
        self.current = Mutex(file)
    }

    var file: ServedFile { self.current.withLock { $0 } }

    func change(_ body: @Sendable (inout ServedFile) -> Void) {
        self.current.withLock { body(&$0) }
    }
}

/// The outcome of one download.
struct Outcome {
    var events: [TransferEvent]
    /// How long all took, to the last event.
    var seconds: Double

    var completion: TransferEvent.Completion? {
        for event in self.events { if case .finished(let completion) = event.kind { return completion } }
        return nil
    }

    var failure: TransferFailure? {
        for event in self.events { if case .failed(let failure) = event.kind { return failure } }
        return nil
    }

    var retries: Int {
        self.events.count { if case .retrying = $0.kind { true } else { false } }
    }

    var notes: [String] {
        self.events.compactMap { if case .note(let text) = $0.kind { text } else { nil } }
    }

    var warnings: [String] {
        self.events.compactMap { if case .warning(let text) = $0.kind { text } else { nil } }
    }

    /// What happened, for the message of an expectation that does not hold.
    var story: String {
        self.events
            .map { event in
                switch event.kind {
                case .started(let path): "started \(path)"
                case .response(let info):
                    "response \(info.status) expects \(info.expected ?? -1) from \(info.resumedFrom)"
                case .progress(let progress): "progress \(progress.bytes) on \(progress.connections)"
                case .retrying(let failure, let attempt, let delay):
                    "retrying \(attempt) after \(delay): \(failure.message)"
                case .paused: "paused"
                case .finished(let completion): "finished \(completion.path) \(completion.bytes)"
                case .failed(let failure): "failed \(failure.code): \(failure.message)"
                case .cancelled: "cancelled"
                case .note(let text): "note: \(text)"
                case .warning(let text): "warning: \(text)"
                case .held: "held"
                case .released: "released"
                case .drained: "drained"
                case .missed(let count): "missed \(count)"
                }
            }
            .joined(separator: "\n")
    }
}

/// The lengths most tests use: above 1 MiB, so that there is a journal.
let fileLength: Int64 = 3 << 20
/// Where most tests interrupt it.
let cutLength: Int64 = 1_300_000

/// A directory to download into, and how to do it.
final class Harness: Sendable {
    let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    /// A request into the directory with short timeouts and few retries.
    func request(
        _ urls: [String],
        name: String? = nil,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) throws -> DownloadRequest {
        var options = DownloadOptions()
        options.directory = self.directory.path
        options.retries = 2
        options.connections = .fixed(1)
        options.stallTimeout = .seconds(20)
        var request = DownloadRequest(try urls.map { try HTTPURL($0) }, name: name, options: options)
        change(&request)
        return request
    }

    /// Downloads one file with a separate engine, and waits for the end.
    func fetch(
        _ urls: String...,
        name: String? = nil,
        transport: HTTPTransport.Configuration = .init(),
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> Outcome {
        try await self.fetchAll([self.request(urls, name: name, change)], transport: transport)[0]
    }

    /// Downloads many files with one engine, and waits for the end of all.
    func fetchAll(
        _ requests: [DownloadRequest],
        engine configuration: TransferEngine.Configuration = .init(),
        transport: HTTPTransport.Configuration = .init()
    ) async throws -> [Outcome] {
        let (ids, events, seconds) = try await self.run(requests, engine: configuration, transport: transport)
        return ids.map { id in Outcome(events: events.filter { $0.id == id }, seconds: seconds) }
    }

    /// Downloads many files with one engine, and waits for the end of all.
    ///
    /// - Returns: The transfers, what happened to all of them in its order, and how long it took to the last of it: the
    ///   test itself may resume much later, because all tests share two threads.
    func run(
        _ requests: [DownloadRequest],
        engine configuration: TransferEngine.Configuration = .init(),
        transport: HTTPTransport.Configuration = .init()
    ) async throws -> (ids: [TransferID], events: [TransferEvent], seconds: Double) {
        await Turnstile.shared.enter()
        defer { Turnstile.shared.leave() }
        let engine = try LiveEngine.make(configuration, transport: transport, store: DiskStore())
        let recorder = EventRecorder()
        let start = ContinuousClock.now
        let last = Mutex(start)
        engine.observe { event in
            recorder.record(event)
            last.withLock { $0 = .now }
        }
        let ids = try requests.map { try engine.add($0) }
        engine.close()
        engine.start()
        await engine.waitUntilDrained()
        let seconds = (last.withLock { $0 } - start) / .seconds(1)
        await engine.stop()
        await engine.transport.shutdown()
        return (ids, recorder.events, seconds)
    }

    /// Lets a download fail after `count` bytes, so that its partial file stays.
    func leavePartial(_ served: Served, _ url: String, after count: Int64 = cutLength) async throws {
        let whole = served.file
        served.change { $0.interruption = .closeAfter(count) }
        let outcome = try await self.fetch(url) { $0.options.retries = 0 }
        served.change { $0 = whole }
        #expect(outcome.failure != nil, "the first run was to fail\n\(outcome.story)")
        #expect(self.directory.entries() == ["file.bin.part", "file.bin.part.journal"])
    }

    /// Holds that the download finished with the right bytes and left nothing beside the file.
    func expectWhole(
        _ outcome: Outcome,
        _ file: ServedFile,
        name: String = "file.bin",
        alone: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(outcome.completion != nil, "\(outcome.story)", sourceLocation: sourceLocation)
        let difference = file.pattern.difference(fromFileAt: self.directory.path(name), length: file.length)
        #expect(difference == nil, "\(outcome.story)", sourceLocation: sourceLocation)
        if alone { #expect(self.directory.entries() == [name], sourceLocation: sourceLocation) }
    }

    /// Holds that the download failed with this code and nothing has the final name.
    func expectFailure(
        _ outcome: Outcome,
        _ code: TransferFailure.Code,
        name: String = "file.bin",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(outcome.failure?.code == code, "\(outcome.story)", sourceLocation: sourceLocation)
        #expect(!self.directory.contains(name), sourceLocation: sourceLocation)
    }
}

/// Lets a few tests move data at a time, so that their short timeouts hold on a small machine, too.
final class Turnstile: Sendable {
    private struct State {
        var places = 12
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    static let shared = Turnstile()

    private let state = Mutex(State())

    func enter() async {
        await withCheckedContinuation { continuation in
            let mayEnter = self.state.withLock { state in
                if state.places == 0 {
                    state.waiting.append(continuation)
                    return false
                }
                state.places -= 1
                return true
            }
            if mayEnter { continuation.resume() }
        }
    }

    func leave() {
        let next = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.places += 1
            return nil
        }
        next?.resume()
    }
}

/// A server of one file under every path.
func serve(_ served: Served, tls: TestCertificate? = nil, host: String = "127.0.0.1") async throws -> ScriptedServer {
    try await ScriptedServer.start(tls: tls, host: host) { .file(served.file, $0) }
}

// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Files
import TransferCore
import TransferEngine

/// A process that uploads: an engine with its transport, its disk store, its journal and its threads.
///
/// `@unchecked Sendable`: a world runs on one thread.
final class UploadCommand: @unchecked Sendable {
    static let state = "/state"
    /// The place at which the process notes that it sends what must not be sent twice.
    static let note = "/notes/note"
    /// The path of the resource to which it uploads.
    static let path = "/target"

    let process: SimulatedProcess
    /// Whether it ended without a kill.
    private(set) var hasExited = false
    /// The number of bytes of its content that the server has read.
    var read: Int64 = 0
    /// The number of events that end the upload.
    private var ends = 0

    private unowned let life: UploadLife
    private let engine: TransferEngine
    private var id: TransferID?

    init(_ life: UploadLife, _ process: SimulatedProcess) {
        self.life = life
        self.process = process
        let transport = SimulatedTransport(life.network, process, lanes: life.terms.lanes)
        self.engine = life.scheduler.perform(as: process) {
            TransferEngine(
                transport: transport,
                store: DiskStore(),
                time: SimulatedTime(life.scheduler, process),
                pool: SimulatedPool(life.scheduler, process)
            )
        }
        self.engine.observe { [unowned self] in self.take($0) }
    }

    func start() {
        self.life.scheduler.perform(as: self.process) {
            self.engine.start()
            do {
                self.id = try self.engine.add(self.request())
            } catch {
                self.life.result.fail("the upload cannot be added: \(error)")
            }
            self.engine.close()
        }
    }

    private func request() throws -> UploadRequest {
        let terms = self.life.terms
        let source = self.life.source
        var parts: [UploadContent.Part] = [.file(SimulatedSource.path)]
        if !source.prefix.isEmpty { parts = [.bytes(source.prefix)] + parts + [.bytes(source.suffix)] }
        let url = try HTTPURL("http://\(UploadSite.hosts[0])\(Self.path)")
        var request = UploadRequest(url, .parts(parts), options: terms.options)
        request.method = terms.method
        request.way = terms.way
        request.checksum = terms.checksum
        request.asksFrom = terms.asksFrom
        request.name = SimulatedSource.path
        request.metadata = [("filename", "file.bin")]
        if terms.hasJournal {
            request.journal = DiskUploadJournal(in: Self.state) { [SimulatedSource.path, url.withoutUserInfo] }
        }
        request.noteUnrepeatable = { () throws(StorageError) in
            try AtomicFile.replace(Self.note, with: Array("sent\n".utf8))
        }
        return request
    }

    private func take(_ event: TransferEvent) {
        guard self.process.isAlive else { return }
        self.life.trace.add("process \(self.process.number)", Command.text(event.kind))
        switch event.kind {
        case .finished, .failed, .cancelled:
            self.ends += 1
            if self.ends > 1 { self.life.result.fail("the upload ended \(self.ends) times in one process") }
            self.life.judge(event.kind, isTwin: self.life.twin === self)
        case .drained: self.exit()
        default: break
        }
    }

    /// Exits when what the engine has left for its threads is done.
    private func exit() {
        self.life.scheduler.schedule(after: 20_000_000, in: self.process) {
            self.hasExited = true
            self.process.kill()
        }
    }

    /// Releases the engine after the end of the process.
    func dispose() { self.process.dispose(self.life.scheduler) { self.engine.cancelAll() } }

    /// The state of the upload, for a world that does not end.
    var state: String { self.id.flatMap { self.engine.state(of: $0) }.map { "\($0)" } ?? "no upload" }

    // MARK: The user

    func perform(_ action: UploadTerms.Action) {
        guard let id = self.id, self.ends == 0 else { return }
        switch action {
        case .pause(let length):
            self.engine.pause(id)
            self.life.scheduler.schedule(after: length, in: self.process) {
                self.life.trace.add("user", "resumes")
                self.engine.resume(id)
            }
        case .cancel(let keeping): self.engine.cancel(id, keeping: keeping)
        case .rate(let rate): self.engine.setRateLimit(rate)
        }
    }
}

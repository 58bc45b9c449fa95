// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import TransferTesting

import Platform

/// A place for a list and its files, and a server whose first answers for a target may stop on the way.
struct OfflineStage: Sendable {
    static let length: Int64 = 3 << 20
    static let part: Int64 = 1 << 20

    let place: TemporaryDirectory
    let server: ScriptedServer
    let file: ServedFile

    /// Starts the server; as many requests for each target as are held get only a third of the file, and no end.
    init(holding: Int = 0) async throws {
        let file = ServedFile(length: Self.length)
        self.place = try TemporaryDirectory()
        self.file = file
        self.server = try await ScriptedServer.start { request in
            if request.path == "/missing" { return .response(404, text: "not here\n") }
            guard request.targetIndex < holding else { return .file(file, request) }
            let whole = file.reply(to: request).steps
            return Reply([whole[0], .pattern(file.pattern, 0..<Self.part), .stall])
        }
    }

    static var configuration: SessionConfiguration {
        var configuration = SessionConfiguration.ephemeral
        configuration.proxy = .none
        configuration.connectionsPerDownload = 1
        configuration.retries = .none
        return configuration
    }

    /// Opens the list; it and the files lie in a directory of this name.
    func open(
        _ folder: String = "app",
        finishedLimit: Int = 1000,
        keepsSecrets: Bool = false
    ) throws -> OfflineDownloads {
        try OfflineDownloads(
            list: self.place.path("\(folder)/list.json"),
            directory: self.place.path(folder),
            configuration: Self.configuration,
            finishedLimit: finishedLimit,
            keepsSecrets: keepsSecrets
        )
    }

    func isWhole(_ path: String) -> Bool { self.file.pattern.difference(fromFileAt: path, length: Self.length) == nil }

    /// Copies what a crash at this moment would leave.
    func crash(into folder: String, _ names: [String]) throws {
        mkdir(self.place.path(folder), 0o755)
        for name in names {
            try self.place.write(self.place.read("app/\(name)"), to: "\(folder)/\(name)")
            try self.copyPairing("app/\(name)", "\(folder)/\(name)")
        }
    }

    /// Copies the attribute by which a partial file belongs to its journal, if there is one.
    private func copyPairing(_ from: String, _ to: String) throws {
        let attribute = "user.martlet.partial"
        let original = Platform.open(self.place.path(from), O_RDONLY | O_CLOEXEC)
        defer { close(original) }
        guard original >= 0, let value = KernelCalls.attribute(of: original, attribute) else { return }
        let copy = Platform.open(self.place.path(to), O_RDWR | O_CLOEXEC)
        defer { close(copy) }
        guard copy >= 0, KernelCalls.setAttribute(copy, attribute, value) == 0 else {
            throw TestSupportError("\(to) cannot have attributes: errno \(errno)")
        }
    }

    /// Whether files of the tests can have attributes, so that a copy of a partial file belongs to a copied journal.
    static let copiesPairs: Bool = {
        guard let directory = try? TemporaryDirectory() else { return false }
        let descriptor = Platform.open(directory.path("probe"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        return descriptor >= 0 && KernelCalls.setAttribute(descriptor, "user.martlet.probe", [1]) == 0
    }()

    /// The names in a directory below the place.
    func names(_ folder: String) -> [String] {
        guard let directory = opendir(self.place.path(folder)) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The text of a file below the place.
    func text(_ name: String) throws -> String { String(decoding: try self.place.read(name), as: UTF8.self) }
}

/// Records the events of a list, and waits for them.
final class OfflineWatcher: OfflineDownloads.Observer {
    struct Log {
        var states: [String: [OfflineDownload.State]] = [:]
        var written: [String: Int64] = [:]
        var totals: [String: Int64] = [:]
        var finished: [String] = []
        var errors: [TransferError] = []
        var rates: [Double] = []
    }

    private struct State {
        var log = Log()
        var waiters: [(isSo: @Sendable (Log) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var log: Log { self.state.withLock { $0.log } }

    func wait(_ isSo: @escaping @Sendable (Log) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isSoAlready = self.state.withLock { state in
                if isSo(state.log) { return true }
                state.waiters.append((isSo, continuation))
                return false
            }
            if isSoAlready { continuation.resume() }
        }
    }

    func wait(for state: OfflineDownload.State, of download: OfflineDownload) async {
        let id = download.id
        await self.wait { $0.states[id]?.last == state }
    }

    func waitForFinish(of download: OfflineDownload) async {
        let id = download.id
        await self.wait { $0.finished.contains(id) }
    }

    func wait(forBytes bytes: Int64, of download: OfflineDownload) async {
        let id = download.id
        await self.wait { $0.totals[id, default: 0] >= bytes }
    }

    private func note(_ change: (inout Log) -> Void) {
        let ready = self.state.withLock { state in
            change(&state.log)
            let ready = state.waiters.filter { $0.isSo(state.log) }
            state.waiters.removeAll { $0.isSo(state.log) }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {
        self.note { $0.states[download.id, default: []].append(state) }
    }

    func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?) {
        self.note { log in
            log.written[download.id, default: 0] += bytes
            log.totals[download.id] = total
            log.rates.append(download.rate)
        }
    }

    func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) {
        self.note { $0.finished.append(download.id) }
    }

    func downloads(_ list: OfflineDownloads, didFailToSave error: TransferError) {
        self.note { $0.errors.append(error) }
    }
}

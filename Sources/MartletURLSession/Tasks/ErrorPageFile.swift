// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Synchronization

/// A temporary file for the body of a response that is not a success: an error page, which a download task has to return.
final class ErrorPageFile: Sendable {
    private struct State {
        var handle: FileHandle?
        var failure: (any Error)?
        var isKept = false
    }

    let url: URL
    private let state: Mutex<State>

    init() {
        let name = "martlet-\(UUID().uuidString).tmp"
        self.url = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        // A new file, readable by its owner only.
        let isMade = FileManager.default.createFile(
            atPath: self.url.path,
            contents: nil,
            attributes: [.posixPermissions: 0o600]
        )
        self.state = Mutex(State())
        do {
            guard isMade else { throw CocoaError(.fileWriteUnknown) }
            let handle = try FileHandle(forWritingTo: self.url)
            self.state.withLock { $0.handle = handle }
        } catch {
            self.state.withLock { $0.failure = error }
        }
    }

    deinit {
        let isKept = self.state.withLock { $0.isKept }
        if !isKept { try? FileManager.default.removeItem(at: self.url) }
    }

    func write(_ data: Data) {
        self.state.withLock { state in
            guard state.failure == nil else { return }
            do { try state.handle?.write(contentsOf: data) } catch { state.failure = error }
        }
    }

    /// Completes the file.
    ///
    /// - Throws: The first error of creating or writing it.
    func finish() throws {
        try self.state.withLock { state in
            if let failure = state.failure { throw failure }
            try state.handle?.close()
            state.handle = nil
        }
    }

    /// Leaves the file to the caller.
    func keep() { self.state.withLock { $0.isKept = true } }
}

// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Files
internal import Platform
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Receives the content of a row: a small one in memory, a larger one in an unnamed file.
final class ContentReceiver: BodyReceiver {
    private struct State {
        var bytes: [UInt8] = []
        var file: FileDescriptor?
        var length: Int64 = 0
    }

    private let state = Mutex(State())
    private let storage: ContentStorage
    private let filter: FilterPolicy

    init(_ storage: ContentStorage, _ filter: FilterPolicy) {
        self.storage = storage
        self.filter = filter
    }

    let keepsBytes = true

    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(TransferFailure) -> Bool {
        try self.state.withLock { (state) throws(TransferFailure) in
            guard offset >= 0, offset <= state.length - Int64(bytes.count) else { return false }
            if let file = state.file {
                switch file.holds(bytes, at: offset) {
                case .success(let holds): return holds
                case .failure(let error): throw TransferFailure(self.storage.error(error.number, "read"))
                }
            }
            return state.bytes.withUnsafeBytes { held in
                held.part(Int(offset)..<Int(offset) + bytes.count).elementsEqual(bytes)
            }
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer, resume: @escaping @Sendable () -> Void) throws(TransferFailure)
        -> Bool
    {
        let length: Int64
        do throws(StorageError) {
            length = try self.state.withLock { (state) throws(StorageError) in try self.append(bytes, to: &state) }
        } catch {
            throw TransferFailure(error)
        }
        if let failure = self.filter.received(length) { throw failure }
        return self.storage.mayReceive(resume)
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to state: inout State) throws(StorageError) -> Int64 {
        if state.file == nil, state.bytes.count + bytes.count > self.storage.memoryLimit {
            let file = try self.storage.unnamedFile()
            let number = state.bytes.withUnsafeBytes { file.write($0, at: 0) }
            guard number == 0 else { throw self.storage.error(number) }
            state.file = file
            state.bytes = []
        }
        if let file = state.file {
            let number = file.write(bytes, at: state.length)
            guard number == 0 else { throw self.storage.error(number) }
        } else {
            state.bytes.append(contentsOf: bytes)
        }
        state.length += Int64(bytes.count)
        return state.length
    }

    /// Removes and returns the content.
    func take() -> SampleContent {
        self.state.withLock { state in
            defer { state = State() }
            if let file = state.file { return .file(file, length: state.length) }
            return .bytes(state.bytes)
        }
    }
}

/// The memory and the unnamed files of contents, and the limit of complete contents that wait to be stored.
final class ContentStorage: Sendable {
    private struct Waiting {
        var bytes: Int64 = 0
        var resumes: [@Sendable () -> Void] = []
    }

    /// The size above which a content is in a file, in bytes.
    let memoryLimit: Int
    private let directory: String
    private let waiting = Mutex(Waiting())

    /// The bytes of complete contents in memory above which nothing more is received.
    private static let most: Int64 = 64 << 20
    /// The memory for contents that are being received.
    private static let shared = 256 << 20

    /// Creates storage for a number of concurrent fetches, with unnamed files in a directory.
    init(directory: String, fetches: Int) {
        self.directory = directory
        self.memoryLimit = max(64 << 10, min(1 << 20, Self.shared / max(1, fetches)))
    }

    /// Whether receiving may continue; otherwise `resume` is called later.
    func mayReceive(_ resume: @escaping @Sendable () -> Void) -> Bool {
        self.waiting.withLock { waiting in
            if waiting.bytes <= Self.most { return true }
            waiting.resumes.append(resume)
            return false
        }
    }

    /// Whether nothing more should be fetched.
    var isBehind: Bool { self.waiting.withLock { $0.bytes > Self.most } }

    /// A content is complete and waits to be stored.
    func waits(_ content: SampleContent) { self.waiting.withLock { $0.bytes += Self.memory(content) } }

    /// A content was stored, or is not stored.
    func released(_ content: SampleContent) {
        let resumes = self.waiting.withLock { waiting in
            waiting.bytes -= Self.memory(content)
            guard waiting.bytes <= Self.most / 2 else { return [@Sendable () -> Void]() }
            defer { waiting.resumes = [] }
            return waiting.resumes
        }
        for resume in resumes { resume() }
    }

    /// The memory of a content, and of what belongs to it.
    private static func memory(_ content: SampleContent) -> Int64 {
        guard case .bytes(let bytes) = content else { return 4096 }
        return Int64(bytes.count) + 4096
    }

    func unnamedFile() throws(StorageError) -> FileDescriptor {
        guard let directory = try DirectoryHandle.open(self.directory, creating: true) else {
            throw self.error(ENOENT)
        }
        return try directory.createUnnamed()
    }

    /// The error of writing or reading an unnamed file.
    func error(_ number: Int32, _ doing: String = "write") -> StorageError {
        StorageError(errno: number, otherwise: .inputOutput, "cannot \(doing) a temporary file in", self.directory)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import TransferCore
internal import TransferEngine

/// Pulls the content of a request before it is sent: `URLSession` takes bytes or a file.
///
/// Content beyond 1 MiB is written to a temporary file, which is removed with this object.
///
/// `@unchecked Sendable`: the variables are used on the lane only.
final class ContentSpool: @unchecked Sendable {
    /// The complete content.
    enum Result: Sendable {
        case data(Data)
        case file(URL)
        case failed(TransportError)
    }

    private static let memoryLimit = 1 << 20
    private static let blockSize = 1 << 20

    private let content: any RequestContent
    private let lane: SystemLane
    private var data = Data()
    private var file: (url: URL, handle: FileHandle)?
    private var isStopped = false
    private let done: @Sendable (Result) -> Void

    /// Creates a spool; ``begin()`` starts it.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - lane: The lane of the exchange.
    ///   - done: Called on the lane with the content, not before ``begin()`` returns.
    init(_ content: any RequestContent, on lane: SystemLane, _ done: @escaping @Sendable (Result) -> Void) {
        self.content = content
        self.lane = lane
        self.done = done
    }

    deinit {
        if let file {
            try? file.handle.close()
            try? FileManager.default.removeItem(at: file.url)
        }
    }

    /// Starts to pull.
    func begin() { self.lane.later { self.pull() } }

    /// Pulls no more.
    func stop() { self.isStopped = true }

    private func pull() {
        guard !self.isStopped else { return }
        let piece = self.content.next { piece in self.lane.later { self.received(piece) } }
        if let piece { self.received(piece) }
    }

    private func received(_ piece: ContentPiece) {
        guard !self.isStopped else { return }
        do {
            switch piece {
            case .bytes(let bytes): try self.add(Data(bytes))
            case .file(let source, let offset, let count):
                let copied = try self.copy(source, offset, min(count, Self.blockSize))
                guard copied > 0 else { return self.end(self.unreadable) }
                if copied < count {
                    let rest = ContentPiece.file(source, offset: offset + Int64(copied), count: count - copied)
                    return self.lane.later { self.received(rest) }
                }
            case .afterwards: break
            case .end: return self.end(try self.finished())
            case .failed: return self.end(self.unreadable)
            }
        } catch let error as StorageError {
            return self.end(.failed(TransportError(.content, "the content cannot be read: \(error)")))
        } catch {
            return self.end(
                .failed(
                    TransportError(
                        .localResource,
                        "the content cannot be written to a temporary file: \(error.localizedDescription)"
                    )
                )
            )
        }
        // Other exchanges of the lane are served between two pieces.
        self.lane.later { self.pull() }
    }

    private var unreadable: Result { .failed(TransportError(.content, "the request's content could not be provided")) }

    private func end(_ result: Result) {
        self.isStopped = true
        self.done(result)
    }

    private func finished() throws -> Result {
        guard let file else { return .data(self.data) }
        try file.handle.close()
        return .file(file.url)
    }

    private func copy(_ source: any SourceFile, _ offset: Int64, _ count: Int) throws -> Int {
        var block = [UInt8](repeating: 0, count: count)
        let read = try block.withUnsafeMutableBytes { try source.read(into: $0, at: offset) }
        try self.add(Data(block.prefix(read)))
        return read
    }

    private func add(_ data: Data) throws {
        if let file { return try file.handle.write(contentsOf: data) }
        self.data.append(data)
        guard self.data.count > Self.memoryLimit else { return }
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        guard
            FileManager.default.createFile(
                atPath: url.path,
                contents: nil,
                attributes: [.posixPermissions: 0o600]
            )
        else { throw CocoaError(.fileWriteUnknown) }
        let handle = try FileHandle(forWritingTo: url)
        self.file = (url, handle)
        try handle.write(contentsOf: self.data)
        self.data = Data()
    }
}

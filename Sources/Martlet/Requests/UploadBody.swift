// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// The body of an upload task.
public struct UploadBody: Sendable {
    let content: UploadContent
    /// The media type, used if the request has none.
    let type: String
    /// The path of the only file, or `nil`.
    let path: String?

    /// The bytes of a regular file, read as they are sent.
    ///
    /// If the file changes while it is sent, or before a resumption, the task fails with `file`.
    public static func file(_ path: String) -> UploadBody {
        UploadBody(content: .file(path), type: Self.octets, path: path)
    }

    /// Bytes in memory.
    public static func bytes(_ bytes: [UInt8]) -> UploadBody {
        UploadBody(content: .bytes(bytes), type: Self.octets, path: nil)
    }

    /// The elements of a sequence, sent once; the next element is requested when there is room for it.
    ///
    /// Once the sequence was read from, the task cannot be retried or resumed.
    ///
    /// - Parameters:
    ///   - sequence: The bytes, in pieces of any size.
    ///   - length: The total number of bytes, if known; otherwise chunked coding is used, which some servers refuse. If
    ///     the sequence has more or fewer bytes, the task fails with `file`, and the server does not get a complete
    ///     request: the last bytes are sent once the sequence has ended.
    /// - Returns: The body.
    public static func stream<Pieces: AsyncSequence & Sendable>(
        _ sequence: Pieces,
        length: Int64? = nil
    ) -> UploadBody where Pieces.Element == [UInt8] {
        UploadBody(content: .stream(SequenceStream(sequence, length: length)), type: Self.octets, path: nil)
    }

    /// A form in the browsers' encoding (`multipart/form-data`, RFC 7578); files are read as they are sent.
    public static func form(_ parts: [UploadBody.Part]) -> UploadBody {
        var random = SystemRandomNumberGenerator()
        let encoding = FormEncoding(random: (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
        var content: [UploadContent.Part] = []
        for (index, part) in parts.enumerated() {
            let head = encoding.head(part.name, fileName: part.fileName, type: part.type, isFirst: index == 0)
            content.append(.bytes(head))
            content.append(part.content)
        }
        content.append(.bytes(encoding.tail(isEmpty: parts.isEmpty)))
        return UploadBody(content: .parts(content), type: encoding.type, path: nil)
    }

    /// The same content without a media type, unless the request has one.
    package var withoutType: UploadBody { UploadBody(content: self.content, type: "", path: self.path) }

    /// The same content with another media type, unless the request has one.
    package func withType(_ type: String) -> UploadBody {
        UploadBody(content: self.content, type: type, path: self.path)
    }

    private static let octets = "application/octet-stream"
}

extension UploadBody {
    /// One part of a form.
    public struct Part: Sendable {
        let name: String
        let fileName: String?
        let type: String?
        let content: UploadContent.Part

        /// A text field.
        public static func field(_ name: String, _ value: String) -> UploadBody.Part {
            UploadBody.Part(name: name, fileName: nil, type: nil, content: .bytes(Array(value.utf8)))
        }

        /// A file.
        ///
        /// - Parameters:
        ///   - name: The field's name.
        ///   - path: The file's path.
        ///   - fileName: The file name sent to the server; by default the path's last component.
        ///   - type: The media type.
        /// - Returns: The part.
        public static func file(
            _ name: String,
            _ path: String,
            fileName: String? = nil,
            type: String = "application/octet-stream"
        ) -> UploadBody.Part {
            let last = path.split(separator: "/").last.map(String.init)
            return UploadBody.Part(name: name, fileName: fileName ?? last ?? "file", type: type, content: .file(path))
        }

        /// Bytes in memory, as a file.
        ///
        /// - Parameters:
        ///   - name: The field's name.
        ///   - bytes: The content.
        ///   - fileName: The file name sent to the server.
        ///   - type: The media type.
        /// - Returns: The part.
        public static func bytes(
            _ name: String,
            _ bytes: [UInt8],
            fileName: String,
            type: String = "application/octet-stream"
        ) -> UploadBody.Part {
            UploadBody.Part(name: name, fileName: fileName, type: type, content: .bytes(bytes))
        }
    }
}

/// Passes a sequence's elements on, one for each request.
final class SequenceStream: ContentStream {
    typealias Given = Result<[UInt8]?, TransferFailure>

    private struct State {
        var take: (@Sendable (Given) -> Void)?
        var ready: Given?
        var producer: CheckedContinuation<Bool, Never>?
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    let length: Int64?
    private let state = Mutex(State())
    private let produce: @Sendable (SequenceStream) async -> Void

    init<Pieces: AsyncSequence & Sendable>(_ sequence: Pieces, length: Int64?) where Pieces.Element == [UInt8] {
        self.length = length
        self.produce = { stream in
            do {
                for try await piece in sequence {
                    guard await stream.put(.success(piece)) else { return }
                }
                _ = await stream.put(.success(nil))
            } catch {
                _ = await stream.put(.failure(TransferFailure(.fileIO, "the source of the upload failed: \(error)")))
            }
        }
    }

    func next(_ take: @escaping @Sendable (Given) -> Void) {
        let (ready, producer): (Given?, CheckedContinuation<Bool, Never>?) = self.state.withLock { state in
            guard !state.isCancelled else { return (nil, nil) }
            // Under the lock, so that a cancellation finds the task.
            if state.task == nil { state.task = Task { await self.produce(self) } }
            guard let ready = state.ready else {
                state.take = take
                return (nil, nil)
            }
            state.ready = nil
            defer { state.producer = nil }
            return (ready, state.producer)
        }
        producer?.resume(returning: true)
        if let ready { take(ready) }
    }

    /// Passes on one element; returns when the next one is requested, or false if it never will be.
    private func put(_ given: Given) async -> Bool {
        let take: (@Sendable (Given) -> Void)? = self.state.withLock { state in
            defer { state.take = nil }
            return state.take
        }
        if let take {
            take(given)
            return self.state.withLock { !$0.isCancelled }
        }
        return await withCheckedContinuation { continuation in
            // The engine may have requested an element between the two locks.
            let (take, isOver): ((@Sendable (Given) -> Void)?, Bool) = self.state.withLock { state in
                if state.isCancelled { return (nil, true) }
                if let take = state.take {
                    state.take = nil
                    return (take, false)
                }
                state.ready = given
                state.producer = continuation
                return (nil, false)
            }
            if isOver { return continuation.resume(returning: false) }
            guard let take else { return }
            take(given)
            continuation.resume(returning: true)
        }
    }

    func cancel() {
        let (producer, task) = self.state.withLock { state in
            state.isCancelled = true
            state.take = nil
            state.ready = nil
            defer {
                state.producer = nil
                state.task = nil
            }
            return (state.producer, state.task)
        }
        producer?.resume(returning: false)
        task?.cancel()
    }
}

// SPDX-License-Identifier: Apache-2.0
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif
internal import Martlet
internal import Synchronization

extension URLSession {
    /// Fetches a body as a sequence of bytes; see ``data(for:delegate:)``.
    ///
    /// The server is read as fast as the sequence is: at most about 1 MiB waits in memory. When the last copy of the sequence
    /// and its iterator are released, the task is cancelled: nothing can read its bytes.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - delegate: A delegate for this task.
    /// - Returns: The bytes and the response, whatever its status.
    /// - Throws: `URLError`; the sequence throws it, too.
    public func bytes(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try Task.checkCancellation()
        let source = BytesSource()
        let task = self.made(URLSessionDataTask(self, request, .data, .bytes(source)), delegate)
        task.resume()
        let (content, response) = try await withTaskCancellationHandler {
            try await source.content
        } onCancel: {
            task.cancel()
        }
        return (AsyncBytes(task: task, content: content), response)
    }

    /// Fetches a body as a sequence of bytes; see ``bytes(for:delegate:)``.
    public func bytes(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) { try await self.bytes(for: URLRequest(url: url), delegate: delegate) }

    /// The bytes of a body, as they arrive.
    public struct AsyncBytes: AsyncSequence, Sendable {
        /// A byte.
        public typealias Element = UInt8

        /// The task; cancelling it ends the sequence with an error.
        public let task: URLSessionDataTask
        let content: BytesSource.Content
        let reader: BytesReader

        init(task: URLSessionDataTask, content: BytesSource.Content) {
            self.task = task
            self.content = content
            self.reader = BytesReader(task)
        }

        /// Returns an iterator; there can be one only.
        public func makeAsyncIterator() -> Iterator { Iterator(pieces: Pieces(self)) }

        /// The pieces in which the bytes arrive, of any size.
        public var chunks: Chunks { Chunks(bytes: self) }

        /// The lines, without their ends (LF, CR LF or CR), decoded as UTF-8.
        public var lines: Lines { Lines(bytes: self) }

        /// Iterates over the bytes.
        public struct Iterator: AsyncIteratorProtocol {
            var pieces: Pieces
            private var piece = Data()[...]

            init(pieces: Pieces) { self.pieces = pieces }

            /// The next byte; `nil` at the end.
            public mutating func next() async throws -> UInt8? {
                if let byte = self.piece.popFirst() { return byte }
                while let next = try await self.pieces.next() {
                    self.piece = next[...]
                    if let byte = self.piece.popFirst() { return byte }
                }
                return nil
            }
        }

        /// The pieces of a body.
        public struct Chunks: AsyncSequence, Sendable {
            let bytes: AsyncBytes

            /// Returns an iterator; there can be one only.
            public func makeAsyncIterator() -> Iterator { Iterator(pieces: Pieces(self.bytes)) }

            /// Iterates over the pieces.
            public struct Iterator: AsyncIteratorProtocol {
                var pieces: Pieces

                /// The next piece; `nil` at the end.
                public mutating func next() async throws -> Data? { try await self.pieces.next() }
            }
        }

        /// The lines of a body.
        public struct Lines: AsyncSequence, Sendable {
            let bytes: AsyncBytes

            /// Returns an iterator; there can be one only.
            public func makeAsyncIterator() -> Iterator { Iterator(bytes: self.bytes.makeAsyncIterator()) }

            /// Iterates over the lines.
            public struct Iterator: AsyncIteratorProtocol {
                var bytes: AsyncBytes.Iterator
                private var line = LineBuffer()

                init(bytes: AsyncBytes.Iterator) { self.bytes = bytes }

                /// The next line; `nil` at the end.
                public mutating func next() async throws -> String? {
                    while let byte = try await self.bytes.next() {
                        if let line = self.line.take(byte) { return line }
                    }
                    return self.line.takeLast()
                }
            }
        }
    }
}

/// The pieces of a body, from the transfer or from the cache.
struct Pieces {
    private let task: URLSessionDataTask
    private let reader: BytesReader
    private var events: TaskEvents.AsyncIterator?
    private var rest: Data?
    private var decoder: ContentDecoder?

    init(_ bytes: URLSession.AsyncBytes) {
        self.task = bytes.task
        self.reader = bytes.reader
        switch bytes.content {
        case .events(let events, let decoder):
            self.events = events.makeAsyncIterator()
            self.decoder = decoder
        case .whole(let data): self.rest = data
        }
    }

    mutating func next() async throws -> Data? {
        if let rest {
            self.rest = nil
            return rest
        }
        let task = self.task
        while let event = await self.nextEvent(cancelling: task) {
            switch event {
            case .data(let bytes):
                let piece = try self.decoder?.decode(Data(bytes)) ?? Data(bytes)
                if !piece.isEmpty { return piece }
            case .finished(let result):
                // The response to an upload comes as a whole, that to a data task in pieces before.
                var last = Data()
                if case .data(let response) = result {
                    last = Data(response.body)
                    last = try self.decoder?.decode(last) ?? last
                }
                try self.decoder?.finish()
                if !last.isEmpty { return last }
            case .failed(let error): throw URLError(error, task.url)
            default: break
            }
        }
        // The sequence also ends when its reader stops waiting.
        try Task.checkCancellation()
        return nil
    }

    private mutating func nextEvent(cancelling task: URLSessionDataTask) async -> TaskEvent? {
        await withTaskCancellationHandler {
            await self.events?.next()
        } onCancel: {
            task.cancel()
        }
    }
}

/// Cancels a task when nothing can read its bytes any more: it would wait for a reader for ever.
final class BytesReader: Sendable {
    private let task: URLSessionDataTask

    init(_ task: URLSessionDataTask) { self.task = task }

    // A task whose bytes were all read has ended or is about to end: it has no transfer that could be cancelled.
    deinit { self.task.cancel() }
}

/// The response and the bytes of a task whose bytes are iterated over.
final class BytesSource: Sendable {
    enum Content: Sendable {
        case events(TaskEvents, ContentDecoder?)
        case whole(Data)
    }

    private let begun: AsyncStream<Result<(Content, URLResponse), any Error>>
    private let begin: AsyncStream<Result<(Content, URLResponse), any Error>>.Continuation

    init() {
        let (begun, begin) = AsyncStream.makeStream(of: Result<(Content, URLResponse), any Error>.self)
        self.begun = begun
        self.begin = begin
    }

    /// The response has arrived; of several results the first counts.
    func put(_ result: Result<(Content, URLResponse), any Error>) {
        self.begin.yield(result)
        self.begin.finish()
    }

    var content: (Content, URLResponse) {
        get async throws {
            let result = await Task { [begun] in await begun.first { _ in true } }.value
            return try (result ?? .failure(URLError(.cancelled))).get()
        }
    }
}

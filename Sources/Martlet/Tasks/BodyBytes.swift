// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

extension TransferSession {
    /// Receives a body as a sequence of bytes, whatever its size.
    ///
    /// The server is read as fast as the sequence is: the transfer pauses while about 1 MiB waits. When the last copy of the
    /// sequence and its iterator are released, the task is cancelled: nothing can read its bytes.
    ///
    /// Cancelling the surrounding Swift task cancels the transfer.
    ///
    /// - Parameter request: The request.
    /// - Returns: The bytes as they were sent, and the response. Compressed ones are not decompressed; Martlet asks for none.
    /// - Throws: ``TransferError``, with `httpStatus` for a status other than success, unless the request accepts any;
    ///   `CancellationError`. The sequence throws them, too.
    public func bytes(from request: some RequestConvertible) async throws -> (bytes: Bytes, response: TransferResponse)
    {
        let made = try request.transferRequest()
        let task = try self.dataTask(for: made, maximumBytes: .max, collectsBody: false)
        let bytes = Bytes(task, task.events)
        task.resume()
        var events = bytes.events.makeAsyncIterator()
        while let event = await bytes.next(&events) {
            switch event {
            case .response(let response):
                // Another one is the error that follows.
                if made.acceptsAnyStatus || (200...299).contains(response.status) { return (bytes, response) }
            case .finished(.data(let result)):
                // Without a body, such as for HEAD.
                bytes.end()
                return (bytes, result.response)
            case .failed(let error):
                try Task.checkCancellation()
                throw error
            case .finished, .resumed, .data, .progress, .sent, .waiting: break
            }
        }
        throw CancellationError()
    }

    /// The bytes of a body, as they arrive.
    public struct Bytes: AsyncSequence, Sendable {
        /// A byte.
        public typealias Element = UInt8

        /// The task; cancelling it ends the sequence with an error.
        public let task: DataTask
        let events: TaskEvents
        private let reader: BodyReader

        init(_ task: DataTask, _ events: TaskEvents) {
            self.task = task
            self.events = events
            self.reader = BodyReader(task)
        }

        /// Creates the iterator; a byte taken by one iterator is not delivered to another.
        public func makeAsyncIterator() -> Iterator { Iterator(pieces: self.chunks.makeAsyncIterator()) }

        /// The pieces in which the bytes arrive, of any size but never empty.
        public var chunks: Chunks { Chunks(bytes: self) }

        /// The lines, without their ends (LF, CR LF or CR), decoded as UTF-8; invalid bytes are replaced by U+FFFD.
        public var lines: Lines { Lines(bytes: self) }

        /// The next event; cancelling the Swift task that waits cancels the transfer.
        func next(_ events: inout TaskEvents.Iterator) async -> TaskEvent? {
            let task = self.task
            return await withTaskCancellationHandler {
                await events.next()
            } onCancel: {
                task.cancel()
            }
        }

        /// The end was seen by the one who waited for the response.
        func end() { self.reader.end() }

        var isEnded: Bool { self.reader.isEnded }

        /// Iterates over the bytes.
        public struct Iterator: AsyncIteratorProtocol {
            var pieces: Chunks.Iterator
            private var piece: ArraySlice<UInt8> = []

            init(pieces: Chunks.Iterator) { self.pieces = pieces }

            /// The next byte; `nil` at the end.
            ///
            /// - Throws: ``TransferError``; `CancellationError`.
            public mutating func next() async throws -> UInt8? {
                if let byte = self.piece.popFirst() { return byte }
                guard let next = try await self.pieces.next() else { return nil }
                self.piece = next[...]
                return self.piece.popFirst()
            }
        }

        /// The pieces of a body.
        public struct Chunks: AsyncSequence, Sendable {
            let bytes: Bytes

            /// Creates the iterator; a piece taken by one iterator is not delivered to another.
            public func makeAsyncIterator() -> Iterator {
                Iterator(bytes: self.bytes, events: self.bytes.events.makeAsyncIterator())
            }

            /// Iterates over the pieces.
            public struct Iterator: AsyncIteratorProtocol {
                let bytes: Bytes
                var events: TaskEvents.Iterator

                /// The next piece; `nil` at the end.
                ///
                /// - Throws: ``TransferError``; `CancellationError`.
                public mutating func next() async throws -> [UInt8]? {
                    while !self.bytes.isEnded, let event = await self.bytes.next(&self.events) {
                        switch event {
                        case .data(let piece): if !piece.isEmpty { return piece }
                        case .failed(let error):
                            try Task.checkCancellation()
                            throw error
                        case .finished, .response, .resumed, .progress, .sent, .waiting: break
                        }
                    }
                    // The events also end when their reader stops waiting.
                    try Task.checkCancellation()
                    return nil
                }
            }
        }

        /// The lines of a body.
        public struct Lines: AsyncSequence, Sendable {
            let bytes: Bytes

            /// Creates the iterator; there can be one only.
            public func makeAsyncIterator() -> Iterator { Iterator(bytes: self.bytes.makeAsyncIterator()) }

            /// Iterates over the lines.
            public struct Iterator: AsyncIteratorProtocol {
                var bytes: Bytes.Iterator
                private var line = LineBuffer()

                init(bytes: Bytes.Iterator) { self.bytes = bytes }

                /// The next line; `nil` at the end.
                ///
                /// - Throws: ``TransferError``; `CancellationError`.
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

/// Cancels a task when nothing can read its bytes any more: it would wait for a reader for ever.
final class BodyReader: Sendable {
    private let task: DataTask
    private let hasEnded = Atomic(false)

    init(_ task: DataTask) { self.task = task }

    var isEnded: Bool { self.hasEnded.load(ordering: .acquiring) }

    func end() { self.hasEnded.store(true, ordering: .releasing) }

    // A task that has ended cannot be cancelled any more.
    deinit { self.task.cancel() }
}

/// Collects the bytes of a line.
package struct LineBuffer: Sendable {
    private var bytes: [UInt8] = []
    private var endsWithReturn = false

    /// Creates an empty buffer.
    package init() {}

    /// Takes the next byte.
    ///
    /// - Returns: The line that the byte ends.
    package mutating func take(_ byte: UInt8) -> String? {
        let isSecond = self.endsWithReturn && byte == 0x0A
        self.endsWithReturn = byte == 0x0D
        if isSecond { return nil }
        if byte != 0x0A, byte != 0x0D {
            self.bytes.append(byte)
            return nil
        }
        defer { self.bytes.removeAll(keepingCapacity: true) }
        return String(decoding: self.bytes, as: UTF8.self)
    }

    /// The last line, if nothing ended it.
    package mutating func takeLast() -> String? {
        defer { self.bytes = [] }
        return self.bytes.isEmpty ? nil : String(decoding: self.bytes, as: UTF8.self)
    }
}

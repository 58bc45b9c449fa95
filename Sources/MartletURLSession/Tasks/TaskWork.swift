// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Martlet
internal import MartletFoundation

enum TaskWork: Sendable {
    case data
    case download
    /// Continues a download; `nil` if the data were not resume data.
    case resumed(ResumeData?)
    case upload(UploadSource)
    /// Follows a transfer that an earlier run of the program started.
    case adopted

    enum UploadSource: Sendable {
        case bytes(Data)
        case file(URL)
        /// The stream of the request, or of the delegate.
        case stream
    }
}

/// Who gets a task's result.
enum TaskSink: Sendable {
    case delegate
    case data(URLSessionDataHandler)
    /// The file is deleted when the handler returns, unless it is kept for the caller.
    case file(URLSessionFileHandler, keepsFile: Bool)

    /// The bytes are iterated over.
    case bytes(BytesSource)

    var isDelegate: Bool { if case .delegate = self { true } else { false } }
}

extension TaskWork {
    /// Whether the delegate may have a stream that the request has not.
    func needsStream(_ request: URLRequest) -> Bool {
        if case .upload(.stream) = self { return request.httpBodyStream == nil }
        return false
    }

    private static func refuseGet(_ request: URLRequest) throws {
        guard request.httpMethod ?? "GET" == "GET" else { return }
        throw URLError.about(
            .dataLengthExceedsMaximum,
            request.url,
            "a GET has no body: use another method, or put it into the query"
        )
    }

    private func hasContent(_ request: URLRequest) -> Bool {
        if case .upload = self { return true }
        return request.httpBodyStream != nil || request.httpBody.map { !$0.isEmpty } ?? false
    }

    /// Creates the transfer of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - stream: The delegate's stream, if it has one.
    ///   - defaults: The fields of every request of the session.
    ///   - session: Martlet's session.
    /// - Returns: The transfer, not started.
    /// - Throws: `URLError` or `TransferError`.
    func transfer(
        _ request: URLRequest?,
        _ stream: InputStream?,
        _ defaults: HeaderFields,
        in session: TransferSession
    ) throws -> TransferTask {
        if case .resumed(let data) = self {
            guard let data else {
                // The code that Foundation has for them.
                throw URLError.about(.unsupportedURL, nil, "these are not resume data of Martlet")
            }
            return try session.downloadTask(resuming: data)
        }
        guard let request else { throw URLError.about(.unsupportedURL, nil, "the request has no URL") }
        var made = try request.transferRequest()
        func has(_ name: String) -> Bool { made.headers.contains(name) || defaults.contains(name) }
        if made.method == "POST", !has("Content-Type"), self.hasContent(request) {
            // The type of a form, as with Foundation.
            made.headers.append("Content-Type", "application/x-www-form-urlencoded")
        }
        switch self {
        case .data, .download, .resumed, .adopted:
            if case .download = self, session.isBackground { return try session.downloadTask(for: made) }
            if let stream = stream ?? request.httpBodyStream {
                try Self.refuseGet(request)
                return try session.uploadTask(for: made, from: .stream(StreamPieces(stream)).withoutType)
            }
            if let body = request.httpBody, !body.isEmpty {
                try Self.refuseGet(request)
                made.body = Array(body)
            }
            // A downloaded file is stored as it is sent.
            if case .data = self, !has("Accept-Encoding"), !has("Range") {
                made.headers.append("Accept-Encoding", "gzip")
            }
            // Nothing is collected: the delegate or the handler of the task gets the bytes.
            return try session.dataTask(for: made, maximumBytes: .max, collectsBody: false)
        case .upload(let source):
            switch source {
            case .bytes(let data): return try session.uploadTask(for: made, from: .bytes(data).withoutType)
            case .file(let url): return try session.uploadTask(for: made, from: .file(url).withoutType)
            case .stream:
                guard let stream = stream ?? request.httpBodyStream else {
                    throw URLError.about(
                        .requestBodyStreamExhausted,
                        request.url,
                        "the request has no httpBodyStream, and the delegate has none either"
                    )
                }
                try Self.refuseGet(request)
                return try session.uploadTask(for: made, from: .stream(StreamPieces(stream)).withoutType)
            }
        }
    }
}

/// The bytes of an `InputStream` in pieces; read when the network has room for them.
struct StreamPieces: AsyncSequence, AsyncIteratorProtocol, Sendable {
    // `@unchecked Sendable`: one iterator reads it, one piece after another.
    private final class Source: @unchecked Sendable {
        let stream: InputStream
        private var isOpen = false

        init(_ stream: InputStream) { self.stream = stream }

        /// Reads the next piece; may block.
        func read() throws -> Data? {
            if !self.isOpen {
                self.stream.open()
                self.isOpen = true
            }
            var bytes = [UInt8](repeating: 0, count: StreamPieces.pieceLength)
            let count = self.stream.read(&bytes, maxLength: bytes.count)
            if count > 0 { return Data(bytes[..<count]) }
            // Foundation's `streamError` ends the process if there is none.
            let error = self.stream.streamStatus == .error ? self.stream.streamError : nil
            self.stream.close()
            if count < 0 { throw error ?? URLError(.requestBodyStreamExhausted) }
            return nil
        }
    }

    private static let pieceLength = 64 << 10

    private let source: Source

    init(_ stream: InputStream) { self.source = Source(stream) }

    func makeAsyncIterator() -> StreamPieces { self }

    func next() async throws -> Data? {
        // A stream may wait for its other end, which must not keep a thread of Swift's pool.
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try self.source.read() }) }
        }
    }
}

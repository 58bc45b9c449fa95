// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Gzip
internal import Martlet
internal import Synchronization

/// Decompresses the body of a response with `Content-Encoding: gzip`, as Foundation's sessions do.
final class ContentDecoder: Sendable {
    private struct State: ~Copyable {
        var decoder: GzipDecoder
        var isEmpty = true
    }

    private let state: Mutex<State>

    /// Creates the decoder of a response; `nil` if its body is delivered as it was sent.
    init?(for fields: HeaderFields) {
        let codings = fields.values("Content-Encoding").joined(separator: ",").split(separator: ",")
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        guard codings == ["gzip"] || codings == ["x-gzip"], let decoder = try? GzipDecoder() else { return nil }
        self.state = Mutex(State(decoder: decoder))
    }

    /// Decompresses the next bytes.
    ///
    /// - Throws: `URLError` with `cannotDecodeContentData`.
    func decode(_ data: Data) throws -> Data {
        try self.state.withLock { state in
            var plain = Data()
            state.isEmpty = state.isEmpty && data.isEmpty
            do throws(SyntaxError) {
                try state.decoder.decode(Array(data)) { bytes in
                    plain.append(contentsOf: bytes)
                    return true
                }
            } catch {
                throw URLError.about(.cannotDecodeContentData, nil, error.message)
            }
            return plain
        }
    }

    /// Checks that the body was complete.
    ///
    /// - Throws: `URLError` with `cannotDecodeContentData`.
    func finish() throws {
        try self.state.withLock { state in
            // The response to HEAD has no body.
            guard !state.isEmpty else { return }
            do throws(SyntaxError) {
                try state.decoder.finish()
            } catch {
                throw URLError.about(.cannotDecodeContentData, nil, error.message)
            }
        }
    }
}

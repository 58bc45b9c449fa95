// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Gzip
internal import Martlet

// `@unchecked Sendable`: used on the delegate's queue, or by one iterator, one call after another.
/// Decompresses the body of a response with `Content-Encoding: gzip`, as Foundation's sessions do.
final class ContentDecoder: @unchecked Sendable {
    private var decoder: GzipDecoder
    private var isEmpty = true

    /// Creates the decoder of a response; `nil` if its body is delivered as it was sent.
    init?(for fields: HeaderFields) {
        let codings = fields.values("Content-Encoding").joined(separator: ",").split(separator: ",")
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        guard codings == ["gzip"] || codings == ["x-gzip"], let decoder = try? GzipDecoder() else { return nil }
        self.decoder = decoder
    }

    /// Decompresses the next bytes.
    ///
    /// - Throws: `URLError` with `cannotDecodeContentData`.
    func decode(_ data: Data) throws -> Data {
        var plain = Data()
        self.isEmpty = self.isEmpty && data.isEmpty
        do {
            try self.decoder.decode(Array(data)) { bytes in
                plain.append(contentsOf: bytes)
                return true
            }
        } catch {
            throw URLError.about(.cannotDecodeContentData, nil, error.message)
        }
        return plain
    }

    /// Checks that the body was complete.
    ///
    /// - Throws: `URLError` with `cannotDecodeContentData`.
    func finish() throws {
        // The response to HEAD has no body.
        guard !self.isEmpty else { return }
        do {
            try self.decoder.finish()
        } catch {
            throw URLError.about(.cannotDecodeContentData, nil, error.message)
        }
    }
}

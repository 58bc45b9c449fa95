// SPDX-License-Identifier: Apache-2.0
import Files
package import TransferCore

/// A stored response whose length and digest were verified.
///
/// It stays readable after the cache has replaced or removed it.
package final class CachedEntry: Sendable {
    /// The place of the body.
    enum Body: Sendable {
        case memory([UInt8])
        case file(FileDescriptor, offset: Int64)
    }

    /// The head.
    package let response: StoredResponse
    /// The requests that select it.
    package let selection: CacheSelection
    /// The length of the body in bytes.
    package let length: Int64
    private let body: Body

    /// Creates an entry in memory.
    package convenience init(_ response: StoredResponse, _ selection: CacheSelection, body: [UInt8]) {
        self.init(response, selection, length: Int64(body.count), .memory(body))
    }

    init(_ response: StoredResponse, _ selection: CacheSelection, length: Int64, _ body: Body) {
        self.response = response
        self.selection = selection
        self.length = length
        self.body = body
    }

    /// The body, if it is in memory.
    package var bytesInMemory: [UInt8]? {
        if case .memory(let bytes) = self.body { bytes } else { nil }
    }

    /// Reads part of the body; may block.
    ///
    /// - Returns: At most `count` bytes from `offset`, empty at the end; `nil` if the disk fails.
    package func read(at offset: Int64, atMost count: Int) -> [UInt8]? {
        let count = Int(max(0, min(Int64(count), self.length - offset)))
        switch self.body {
        case .memory(let bytes): return Array(bytes[Int(offset)..<Int(offset) + count])
        case .file(let file, let start):
            var bytes = [UInt8](repeating: 0, count: count)
            let read = bytes.withUnsafeMutableBytes { file.read(into: $0, at: start + offset) }
            return read == count ? bytes : nil
        }
    }
}

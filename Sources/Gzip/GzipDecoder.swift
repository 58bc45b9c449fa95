// SPDX-License-Identifier: Apache-2.0
internal import CZlib
package import TransferCore

/// Decompresses a stream of gzip members.
///
/// Bytes after the last member that are all zero are padding; tar and some storage systems append it.
///
/// - Source: RFC 1952; zlib's manual, `inflate`.
package struct GzipDecoder: ~Copyable {
    /// Whether bytes begin like a gzip member.
    package static func isGzip(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x1F, 0x8B]) }

    private enum Place {
        /// At the beginning of a member.
        case boundary
        case member
        /// In zeros after the last member.
        case padding
    }

    /// zlib keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>
    private var place = Place.boundary
    private var hasMember = false

    /// Creates a decoder.
    ///
    /// - Throws: ``SyntaxError`` if zlib cannot allocate memory.
    package init() throws(SyntaxError) {
        self.stream = .allocate(capacity: 1)
        self.stream.initialize(to: z_stream())
        guard martlet_inflate_init_gzip(self.stream) == Z_OK else {
            self.stream.deallocate()
            throw SyntaxError("zlib cannot allocate its memory")
        }
    }

    deinit {
        inflateEnd(self.stream)
        self.stream.deinitialize(count: 1)
        self.stream.deallocate()
    }

    /// Decompresses a chunk, and calls `take` with the output in pieces of at most 256 KiB until it returns false.
    ///
    /// - Throws: ``SyntaxError`` if the input is damaged.
    package mutating func decode(_ chunk: [UInt8], _ take: (ArraySlice<UInt8>) -> Bool) throws(SyntaxError) {
        var output = [UInt8](repeating: 0, count: 256 << 10)
        var consumed = 0
        while true {
            if self.place != .member {
                guard consumed < chunk.count else { return }
                if self.hasMember, chunk[consumed] == 0 {
                    self.place = .padding
                    consumed += 1
                    continue
                }
                guard self.place == .boundary else { throw SyntaxError("there is data after the end of the gzip file") }
                self.place = .member
            }
            let step = self.inflate(chunk[consumed...], into: &output)
            consumed += step.consumed
            if step.produced > 0, !take(output[..<step.produced]) { return }
            switch step.status {
            case Z_OK, Z_BUF_ERROR: if consumed == chunk.count, step.produced < output.count { return }
            case Z_STREAM_END:
                self.place = .boundary
                self.hasMember = true
                inflateReset(self.stream)
            default:
                let reason = self.stream.pointee.msg.map { String(cString: $0) } ?? "error \(step.status)"
                throw SyntaxError("the gzip data is damaged (\(reason)); check the file with gzip -t")
            }
        }
    }

    /// Checks that the input ended with a complete member.
    ///
    /// - Throws: ``SyntaxError`` if it is cut short.
    package mutating func finish() throws(SyntaxError) {
        guard self.hasMember, self.place != .member else {
            throw SyntaxError("the gzip data is cut short: its last rows are missing; get the whole file")
        }
    }

    private mutating func inflate(
        _ input: ArraySlice<UInt8>,
        into output: inout [UInt8]
    ) -> (status: Int32, consumed: Int, produced: Int) {
        let stream = self.stream
        return input.withUnsafeBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                // zlib does not change its input.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                let status = CZlib.inflate(stream, Z_NO_FLUSH)
                return (
                    status, input.count - Int(stream.pointee.avail_in), output.count - Int(stream.pointee.avail_out)
                )
            }
        }
    }
}

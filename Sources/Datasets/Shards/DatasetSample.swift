// SPDX-License-Identifier: Apache-2.0
package import Files
package import TransferCore

/// A fetched row, to be written into a shard.
package struct DatasetSample: Sendable {
    package var row: DatasetRow
    package var content: SampleContent
    /// The value of `Content-Type`, or `nil`.
    package var mediaType: String?
    /// The members of the row's report that are known so far.
    package var metadata: [JSON.Member]

    package init(row: DatasetRow, content: SampleContent, mediaType: String?, metadata: [JSON.Member] = []) {
        self.row = row
        self.content = content
        self.mediaType = mediaType
        self.metadata = metadata
    }
}

package enum SampleContent: Sendable {
    /// Bytes in memory.
    case bytes([UInt8])
    /// The first `length` bytes of an open file.
    case file(FileDescriptor, length: Int64)

    /// The number of bytes.
    package var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let length): length
        }
    }
}

/// The position of a sample's content.
package struct ShardPlace: Sendable, Hashable {
    /// The name of the shard in its directory.
    package var shard: String
    /// The offset of the content's first byte in the shard; the content follows without gaps.
    package var offset: Int64

    /// Creates a position.
    package init(shard: String, offset: Int64) {
        self.shard = shard
        self.offset = offset
    }
}

/// A shard that is complete and durable under its name.
package struct ClosedShard: Sendable, Hashable {
    /// The name in the directory.
    package var name: String
    /// The numbers of its rows, in the order of its samples.
    package var rows: [Int64]
    /// The size of the file in bytes.
    package var size: Int64

    /// Creates a value.
    package init(name: String, rows: [Int64], size: Int64) {
        self.name = name
        self.rows = rows
        self.size = size
    }
}

/// When a shard is closed.
package struct ShardLimits: Sendable, Hashable {
    /// The size of the file in bytes, exceeded only by a single sample that is larger.
    package var bytes: Int64
    /// The number of samples, at least 1.
    package var samples: Int
    /// The time without a new sample, in nanoseconds, or `nil` if a shard waits for the next sample without a limit.
    package var idle: Int64?

    /// Creates limits; the defaults are those of img2dataset for samples, and 1 GiB.
    package init(bytes: Int64 = 1 << 30, samples: Int = 10_000, idle: Int64? = nil) {
        self.bytes = max(1, bytes)
        self.samples = max(1, samples)
        self.idle = idle.map { max(1, $0) }
    }
}

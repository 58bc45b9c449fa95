// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The place of a sample's content, as a line of a report names it.
package struct ReportedSample: Sendable, Equatable {
    /// The name of the shard.
    package var shard: String
    /// The offset of the content.
    package var offset: Int64
    /// The length of the content in bytes.
    package var length: Int64

    /// The sample of a line; `nil` if the line names none.
    package init?(_ line: ArraySlice<UInt8>) {
        guard let json = try? JSON(parsing: line), let shard = json["shard"]?.string,
            let offset = json["offset"]?.integer, let length = json["bytes"]?.integer,
            offset >= 0, length >= 0, length <= Int64.max / 4, offset <= Int64.max / 4
        else { return nil }
        (self.shard, self.offset, self.length) = (shard, offset, length)
    }

    /// The end of the content with its padding: the row of the sample follows.
    var end: Int64 { self.offset + self.length + Int64(TarFormat.padding(after: self.length)) }
}

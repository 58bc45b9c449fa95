// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The two members of a sample: its content, and the row as JSON.
struct SampleMembers {
    /// The name of the sample, which both members begin with.
    let name: String
    /// The extension of the content.
    let ending: String
    /// The length of the content in bytes.
    let length: Int64
    /// The row, as JSON text.
    let row: [UInt8]

    /// The name of the member with the content.
    var contentName: String { "\(self.name).\(self.ending)" }
    /// The name of the member with the row.
    var rowName: String { "\(self.name).\(SampleExtension.row)" }
    var contentOffset: Int64 { TarFormat.headerSize(of: self.contentName, size: self.length) }
    /// The number of bytes of both members.
    var size: Int64 {
        TarFormat.memberSize(of: self.contentName, size: self.length)
            + TarFormat.memberSize(of: self.rowName, size: Int64(self.row.count))
    }

    /// Appends the bytes before the content.
    func appendHead(to bytes: inout [UInt8]) {
        TarFormat.appendHeader(of: self.contentName, size: self.length, to: &bytes)
    }

    /// Appends the bytes after the content.
    func appendTail(to bytes: inout [UInt8]) {
        TarFormat.appendPadding(after: self.length, to: &bytes)
        TarFormat.appendHeader(of: self.rowName, size: Int64(self.row.count), to: &bytes)
        bytes.append(contentsOf: self.row)
        TarFormat.appendPadding(after: Int64(self.row.count), to: &bytes)
    }
}

extension DatasetSample {
    /// The row as JSON: `key`, `url`, the known members of the report, `media_type`, and the other columns.
    ///
    /// A column with a name that the report uses gets an underscore, so that both values are kept.
    var rowText: [UInt8] {
        var members: [JSON.Member] = []
        var names: Set<String> = []
        let start = [JSON.Member("key", .string(self.row.key)), JSON.Member("url", .string(self.row.url))]
        let type = self.mediaType.map { [JSON.Member("media_type", .string($0))] } ?? []
        for member in start + self.metadata + type where names.insert(member.name).inserted { members.append(member) }
        for other in ReportColumns.passedThrough(self.row.others) {
            var name = other.name
            while !names.insert(name).inserted { name += "_" }
            members.append(JSON.Member(name, other.value))
        }
        return JSON.object(members).bytes
    }
}

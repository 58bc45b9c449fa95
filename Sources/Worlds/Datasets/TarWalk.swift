// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// Reads the members of a tar archive, as another program does.
enum TarWalk {
    struct Member: Equatable {
        var name: String
        /// The place of its content in the archive.
        var range: Range<Int>
    }

    /// Reads the members of a complete archive.
    ///
    /// - Parameters:
    ///   - bytes: The archive.
    ///   - most: The number of members after which the rest does not matter; `nil` for all.
    /// - Returns: The members; `nil` if the archive is damaged or has no end.
    static func members(_ bytes: [UInt8], most: Int? = nil) -> [Member]? {
        var members: [Member] = []
        var position = 0
        var longName: String?
        while position + 512 <= bytes.count {
            if members.count == most { return members }
            let block = Array(bytes[position..<position + 512])
            if block.allSatisfy({ $0 == 0 }) {
                let rest = bytes[position...]
                return rest.count == 1024 && rest.allSatisfy { $0 == 0 } ? members : nil
            }
            guard self.sum(block) == self.number(block[148..<156]), let size = self.number(block[124..<136]),
                position + 512 + size <= bytes.count
            else { return nil }
            let content = position + 512..<position + 512 + size
            if block[156] == UInt8(ascii: "x") {
                longName = self.path(Array(bytes[content]))
            } else {
                let prefix = self.text(block[345..<500])
                let name = self.text(block[0..<100])
                members.append(Member(name: longName ?? (prefix.isEmpty ? name : "\(prefix)/\(name)"), range: content))
                longName = nil
            }
            position = content.upperBound + (512 - size % 512) % 512
        }
        return nil
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        Int(self.text(bytes).filter { $0 != " " }, radix: 8)
    }

    private static func sum(_ block: [UInt8]) -> Int {
        block.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element)) }
    }

    /// The record `path` of a pax header.
    private static func path(_ records: [UInt8]) -> String? {
        let text = String(decoding: records, as: UTF8.self)
        return text.split(separator: "\n").first { $0.contains(" path=") }
            .flatMap { $0.split(separator: "=", maxSplits: 1).last.map(String.init) }
    }
}

// SPDX-License-Identifier: Apache-2.0
import TransferTesting

/// An independent reader of tar archives, for tests.
enum PlainTar {
    struct Member: Equatable {
        var name: String
        var content: [UInt8]
        var offset: Int
    }

    /// The members; throws if the archive is not valid or has no end.
    static func members(of archive: [UInt8]) throws -> [Member] {
        var members: [Member] = []
        var position = 0
        var path: String?
        while true {
            guard position + 512 <= archive.count else { throw TestSupportError("the archive has no end") }
            let block = Array(archive[position..<(position + 512)])
            position += 512
            if block.allSatisfy({ $0 == 0 }) {
                guard archive[position...].count == 512, archive[position...].allSatisfy({ $0 == 0 }) else {
                    throw TestSupportError("bytes follow the end")
                }
                return members
            }
            func text(_ range: Range<Int>) -> String {
                String(decoding: block[range].prefix { $0 != 0 }, as: UTF8.self)
            }
            let sum = block.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element)) }
            guard Int(text(148..<154), radix: 8) == sum else { throw TestSupportError("a wrong checksum") }
            guard let size = Int(text(124..<136), radix: 8), position + size <= archive.count else {
                throw TestSupportError("a wrong size")
            }
            let content = Array(archive[position..<(position + size)])
            if block[156] == UInt8(ascii: "x") {
                path = try self.path(content)
            } else {
                let prefix = text(345..<500)
                let name = path ?? (prefix.isEmpty ? text(0..<100) : prefix + "/" + text(0..<100))
                members.append(Member(name: name, content: content, offset: position))
                path = nil
            }
            position += (size + 511) / 512 * 512
        }
    }

    private static func path(_ records: [UInt8]) throws -> String? {
        var rest = records[...]
        var path: String?
        while !rest.isEmpty {
            let digits = rest.prefix { $0 != 0x20 }
            guard let length = Int(String(decoding: digits, as: UTF8.self)), length <= rest.count,
                rest[rest.startIndex + length - 1] == 0x0A
            else { throw TestSupportError("a wrong record") }
            let pair = String(decoding: rest.prefix(length - 1).dropFirst(digits.count + 1), as: UTF8.self)
            if pair.hasPrefix("path=") { path = String(pair.dropFirst(5)) }
            rest = rest.dropFirst(length)
        }
        return path
    }
}

// SPDX-License-Identifier: Apache-2.0
/// The names of shards and of their files while they are written.
enum ShardName {
    /// The file that is locked while a program writes shards into the directory.
    static let lock = ".martlet-shards"

    /// The name of a shard: `00000.tar`, with more digits from 100,000 on.
    static func final(_ number: Int64) -> String { "\(self.digits(number)).tar" }

    /// The name of a shard that is incomplete: `.00000.tar.part`.
    static func part(_ number: Int64) -> String { ".\(self.final(number)).part" }

    /// The name of a complete shard that no report has: `00000.tar.unreported`, or with a further number.
    static func unreported(_ number: Int64, attempt: Int) -> String {
        "\(self.final(number)).unreported" + (attempt == 0 ? "" : ".\(attempt)")
    }

    /// The number of a shard's name, or `nil` for any other name.
    static func number(ofFinal name: String) -> Int64? {
        let digits = name.utf8.prefix { (0x30...0x39).contains($0) }
        guard (5...18).contains(digits.count), let number = Int64(Substring(digits)), self.final(number) == name else {
            return nil
        }
        return number
    }

    /// The number of an incomplete shard's name, or `nil` for any other name.
    static func number(ofPart name: String) -> Int64? {
        guard name.hasPrefix("."), name.hasSuffix(".part") else { return nil }
        return self.number(ofFinal: String(name.dropFirst().dropLast(5)))
    }

    private static func digits(_ number: Int64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 5 - digits.utf8.count)) + digits
    }
}

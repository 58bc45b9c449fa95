// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

/// Header fields, compared with a naive list of pairs.
@Suite struct HeaderFieldsWalkTests {
    /// The fields as pairs, in which every name is compared with every other.
    private struct Pairs {
        var pairs: [(name: String, value: String)] = []

        func values(_ name: String) -> [String] {
            self.pairs.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }

        mutating func remove(_ name: String) { self.pairs.removeAll { $0.name.lowercased() == name.lowercased() } }

        mutating func set(_ name: String, _ value: String) {
            guard let first = self.pairs.firstIndex(where: { $0.name.lowercased() == name.lowercased() }) else {
                return self.pairs.append((name, value))
            }
            self.remove(name)
            self.pairs.insert((name, value), at: first)
        }
    }

    // Names of equal length and first letter in both cases, and names that are a part of another.
    private static let names = [
        "ETag", "etag", "EtAg", "Date", "Vary", "Via", "Set-Cookie", "Set-cookiE", "Sat-Cookie", "Age", "X", "x", "Y",
        "X-A", "Content-Encoding", "Content-Language", "Content-Length", "_", "?", "~", "`", "|a", "\\a", "1", "Q",
    ]

    @Test func aNaiveListAgrees() {
        var random = WalkRandom(7)
        for _ in 0..<400 {
            var (fields, pairs) = (HeaderFields(), Pairs())
            for step in 0..<Int.random(in: 1..<24, using: &random) {
                let name = Self.names[Int.random(in: 0..<Self.names.count, using: &random)]
                switch Int.random(in: 0..<6, using: &random) {
                case 0:
                    fields.remove(name)
                    pairs.remove(name)
                case 1:
                    fields[name] = "set \(step)"
                    pairs.set(name, "set \(step)")
                case 2:
                    fields[name] = nil
                    pairs.remove(name)
                default:
                    fields.append(name, "value \(step)")
                    pairs.pairs.append((name, "value \(step)"))
                }
                for name in Self.names {
                    let values = pairs.values(name)
                    #expect(fields.contains(name) == !values.isEmpty)
                    #expect(fields[name] == values.first)
                    #expect(fields.values(name) == values)
                    #expect(fields.joined(name) == (values.isEmpty ? nil : values.joined(separator: ", ")))
                }
                #expect(fields.map(\.name) == pairs.pairs.map(\.name))
            }
        }
    }

    @Test func anEmptyNameIsAName() {
        var fields = HeaderFields()
        #expect(!fields.contains("") && fields[""] == nil)
        fields.append("", "value")
        #expect(fields.contains("") && fields[""] == "value")
    }
}

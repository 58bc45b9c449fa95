// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import Datasets

@Suite struct SampleKeyTests {
    @Test(arguments: [
        ("000000042", "000000042"), ("a-b_C", "a-b_C"), ("", "%"), ("a.b", "a%2Eb"), ("a/b", "a%2Fb"),
        (".hidden", "%2Ehidden"), ("-rf", "%2Drf"), ("50%", "50%25"), ("a b\n", "a%20b%0A"), ("é", "%C3%A9"),
        ("\u{0}", "%00"), ("..", "%2E%2E"), ("__url__", "__url__"),
    ])
    func aKeyIsEncodedForAFileName(_ key: String, _ name: String) {
        #expect(SampleKey.encode(key) == name)
        #expect(SampleKey.decode(name) == key)
    }

    @Test func keysOfAnyTextAreReadBackAndHaveNoDotOrSlash() {
        var random = SeededGenerator(seed: 1)
        var names: Set<String> = []
        var keys: Set<[UInt8]> = []
        for _ in 0..<20_000 {
            let length = Int.random(in: 0...6, using: &random)
            let scalars = (0..<length)
                .map { _ in "ab-_%.r/2E0 é\u{0}~\u{1F600}h".unicodeScalars.randomElement(using: &random) }
            var key = ""
            for scalar in scalars { if let scalar { key.unicodeScalars.append(scalar) } }
            let name = SampleKey.encode(key)
            #expect(name.utf8.allSatisfy { $0 != 0x2E && $0 != 0x2F && $0 > 0x20 && $0 < 0x7F })
            #expect(SampleKey.decode(name).map { Array($0.utf8) } == Array(key.utf8))
            names.insert(name)
            keys.insert(Array(key.utf8))
        }
        #expect(names.count == keys.count)
    }

    @Test func aLongKeyEndsWithItsDigest() {
        let key = String(repeating: "k", count: 200)
        #expect(SampleKey.encode(key) == key)
        let longer = SampleKey.encode(key + "1")
        #expect(longer.utf8.count == 200)
        #expect(longer.hasPrefix(String(repeating: "k", count: 166) + "%h"))
        #expect(longer != SampleKey.encode(key + "2"))
        #expect(longer == SampleKey.encode(key + "1"))
        #expect(SampleKey.decode(longer) == nil)
        // An escape is not cut.
        for count in 160...170 {
            let name = SampleKey.encode(String(repeating: "k", count: count) + String(repeating: ".", count: 40))
            let beginning = name.utf8.prefix(name.utf8.count - 34)
            #expect(SampleKey.decode(String(decoding: beginning, as: UTF8.self)) != nil, "\(name)")
            #expect(name.utf8.count <= 200)
        }
    }

    @Test func aDistinctNameIsThatOfNoKey() {
        #expect(SampleKey.distinct("a", row: 17) == "a%r17")
        #expect(SampleKey.decode("a%r17") == nil)
        #expect(SampleKey.encode("a%r17") == "a%25r17")
    }
}

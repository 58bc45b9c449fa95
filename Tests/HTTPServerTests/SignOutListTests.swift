// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import HTTPServer

@Suite("The list of sign-outs")
struct SignOutListTests {
    private static func cookie(_ id: Int, _ expires: Int64) -> SignInCookie.Content {
        SignInCookie.Content(id: "\(id)", expires: expires, left: 0)
    }

    private static func apply(_ record: [UInt8], to list: inout SignOutList) -> Bool { list.apply(record) }

    @Test("A cookie that has ended, or was renewed, is in it; others are not")
    func contains() {
        var list = SignOutList()
        let end = SignInCookie.end(now: 1000, after: 0)
        _ = list.add([Self.cookie(1, end)], now: 1000)
        #expect(list.contains(Self.cookie(1, end)))
        #expect(list.contains(Self.cookie(1, end + 300_000)))
        #expect(!list.contains(Self.cookie(2, end)))
        // Until the last one that could have been made from it has ended by itself.
        list.prune(now: Double(end) - 1)
        #expect(list.entries.count == 1)
        list.prune(now: Double(end))
        #expect(list.entries.isEmpty)
        #expect(list.contains(Self.cookie(1, end)))
    }

    @Test("A full list ends the older cookies too, instead of forgetting sign-outs")
    func bound() {
        var list = SignOutList(most: 100)
        var ended: [SignInCookie.Content] = []
        for number in 0..<1000 {
            let now = Double(number * 10)
            let cookie = Self.cookie(number, SignInCookie.end(now: now, after: list.floor))
            #expect(!list.contains(cookie))
            _ = list.add([cookie], now: now)
            ended.append(cookie)
            #expect(list.entries.count <= 100)
        }
        #expect(ended.allSatisfy { list.contains($0) })
        // Everyone whose cookie is not older than that remains signed in.
        #expect(!list.contains(Self.cookie(-1, SignInCookie.end(now: 9990, after: list.floor))))
        #expect(!list.contains(Self.cookie(-1, list.floor + 1)))
        // All at once: new cookies end later than those that have ended.
        for number in 0..<1000 {
            let cookie = Self.cookie(10_000 + number, SignInCookie.end(now: 20_000, after: list.floor))
            #expect(!list.contains(cookie))
            _ = list.add([cookie], now: 20_000)
            #expect(list.contains(cookie))
        }
    }

    @Test(
        "Random sign-outs, clocks, restarts and orders of records: no cookie that has ended is valid again",
        arguments: 0..<60 as Range<UInt64>
    )
    func random(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let most = 4 + Int(random.next() % 12)
        var list = SignOutList(most: most)
        var records: [[UInt8]] = []
        var ended: [SignInCookie.Content] = []
        var now = 1_000_000.0
        for number in 0..<400 {
            // Clocks are set, also backwards.
            now += Double(random.next() % 100_000) - (random.next() % 10 == 0 ? 900_000 : 0)
            now = max(0, now)
            switch random.next() % 8 {
            case 0: list.prune(now: now)
            case 1:
                list.prune(now: now)
                records = [list.snapshot]
            case 2:
                // A restart.
                var again = SignOutList(most: most)
                for record in records { #expect(Self.apply(record, to: &again)) }
                for record in records { #expect(Self.apply(record, to: &again)) }
                list = again
            case 3:
                var again = SignOutList(most: most)
                for record in records.shuffled(using: &random) { #expect(Self.apply(record, to: &again)) }
                #expect(ended.allSatisfy { again.contains($0) })
            case 4 where random.next() % 8 == 0:
                list.endAll(now: now)
                records.append(list.snapshot)
            default:
                let cookie = Self.cookie(number, SignInCookie.end(now: now, after: list.floor))
                #expect(!list.contains(cookie))
                records.append(list.add([cookie], now: now))
                ended.append(cookie)
            }
            #expect(list.entries.count <= most)
            #expect(ended.allSatisfy { list.contains($0) })
            #expect(!list.contains(Self.cookie(-1, SignInCookie.end(now: now, after: list.floor))))
        }
    }

    @Test(
        "Other records are refused",
        arguments: ["", "{}", "[]", #"{"ended":{"a":"b"},"floor":1}"#, #"{"ended":[],"floor":1}"#]
    )
    func malformed(record: String) {
        var list = SignOutList()
        #expect(!Self.apply(Array(record.utf8), to: &list))
    }
}

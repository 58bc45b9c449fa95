// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

import Platform

@Suite("The file of a list of downloads", .timeLimit(.minutes(1)))
struct OfflineJournalTests {
    /// The bytes that a change has written, by the file's length and whether it was replaced.
    private struct Written {
        private let path: String
        private var number: UInt64 = 0
        private var length: Int64 = 0

        init(_ path: String) {
            self.path = path
            _ = self.next()
        }

        mutating func next() -> Int64 {
            var status = stat()
            guard stat(self.path, &status) == 0 else { return 0 }
            let isSame = UInt64(status.st_ino) == self.number
            defer { (self.number, self.length) = (UInt64(status.st_ino), Int64(status.st_size)) }
            return Int64(status.st_size) - (isSame ? self.length : 0)
        }
    }

    @Test("an add writes as many bytes to a list of thousands as to an empty one, and no name is tried twice")
    func constantCost() async throws {
        let stage = try await OfflineStage(holding: 1_000_000)
        let list = try stage.open()
        list.concurrentTransfers = 1
        var written = Written(stage.place.path("app/list.json"))
        func average() throws -> Int64 {
            _ = written.next()
            var sum: Int64 = 0
            for _ in 0..<20 {
                try list.add(stage.server.text("film.bin"))
                sum += written.next()
            }
            return sum / 20
        }
        let first = try average()
        let urls = Array(repeating: stage.server.text("film.bin"), count: 3000)
        #expect(try list.add(contentsOf: urls).count == 3000)
        let last = try average()
        #expect(last < first + 16, "\(first) bytes at first, \(last) with 3,000 downloads")
        #expect(list.downloads.count == 3040)
        #expect(Set(list.downloads.map(\.name)).count == 3040)
        await list.close()
    }

    @Test("a file that is mostly obsolete is replaced, so that it does not grow for ever")
    func compaction() async throws {
        let stage = try await OfflineStage(holding: 100)
        var list = try stage.open()
        let download = try list.add(stage.server.text("film.bin"))
        let filling = String(repeating: "x", count: 1000)
        for number in 0..<500 { try download.setUserInfo(["filling": filling, "number": "\(number)"]) }
        #expect(try stage.text("app/list.json").utf8.count < 100_000)
        await list.close()
        list = try stage.open()
        #expect(list.downloads.first?.userInfo["number"] == "499")
        #expect(try stage.text("app/list.json").utf8.count < 3000)
        await list.close()
    }

    @Test("cut at any byte by a crash, the list has the changes whose lines are complete, and takes further ones")
    func tornEnd() async throws {
        let stage = try await OfflineStage(holding: 1000)
        let list = try stage.open()
        list.concurrentTransfers = 1
        let start = try stage.text("app/list.json").utf8.count
        let first = try list.add(stage.server.text("a"))
        try list.add(contentsOf: [stage.server.text("b"), stage.server.text("c")])
        try first.remove()
        let bytes = Array(try stage.text("app/list.json").utf8)
        // The removal may be followed by the line that forgets the download.
        let lines = bytes.indices.filter { bytes[$0] == 0x0A }
        try #require(lines.count >= 4 && lines[0] + 1 == start)
        mkdir(stage.place.path("cut"), 0o755)
        for length in start...bytes.count {
            try stage.place.write(Array(bytes[..<length]), to: "cut/list.json")
            let cut = try stage.open("cut")
            let names = cut.downloads.map(\.name)
            let complete = lines.count { $0 < length } - 1
            #expect(names == [[], ["a"], ["a", "b", "c"], ["b", "c"], ["b", "c"]][min(complete, 4)], "\(length)")
            guard length % 32 == 0 else {
                await cut.close()
                continue
            }
            try cut.add(stage.server.text("d\(length)"))
            await cut.close()
            let again = try stage.open("cut")
            #expect(again.downloads.map(\.name) == names + ["d\(length)"])
            await again.close()
        }
        await list.close()
    }

    @Test("the list of an earlier version is read, and kept in the new form")
    func earlierVersion() async throws {
        let stage = try await OfflineStage(holding: 100)
        mkdir(stage.place.path("app"), 0o755)
        let text = """
            {
              "items" : [
                {
                  "id" : "11111111-2222-3333-4444-555555555555",
                  "isKept" : true,
                  "name" : "film.bin",
                  "received" : 0,
                  "request" : {
                    "digests" : [], "headers" : [["X-Mine", "1"]], "mirrors" : [], "priority" : 50,
                    "url" : "\(stage.server.text("film.bin"))"
                  },
                  "standing" : "suspended",
                  "userInfo" : { "title" : "A film" }
                }
              ],
              "version" : 1
            }
            """
        try stage.place.write(Array(text.utf8), to: "app/list.json")
        var list = try stage.open()
        #expect(list.downloads.map(\.name) == ["film.bin"] && list.downloads[0].userInfo == ["title": "A film"])
        try list.add(stage.server.text("other.bin"))
        await list.close()
        list = try stage.open()
        #expect(list.downloads.map(\.name) == ["film.bin", "other.bin"])
        #expect(list.downloads.map(\.state) == [.suspended, .suspended])
        await list.close()
    }

    @Test(
        "many are added all or none, each with its own values, and a list that was replaced meanwhile is written whole"
    )
    func batch() async throws {
        let stage = try await OfflineStage(holding: 100)
        var list = try stage.open()
        let items = try (0..<3)
            .map {
                try OfflineDownload.Request(stage.server.text("film.bin"), name: "\($0).bin", userInfo: ["n": "\($0)"])
            }
        let added = try list.add(contentsOf: items)
        #expect(added == list.downloads && added.map(\.name) == ["0.bin", "1.bin", "2.bin"])
        var bad = items
        bad[1].request.method = "POST"
        let refused = bad
        let error = #expect(throws: TransferError.self) { try list.add(contentsOf: refused) }
        #expect(error?.code == .badRequest && list.downloads == added)
        #expect(throws: TransferError.self) { try list.add(contentsOf: [stage.server.text("a"), "ftp://b/"]) }
        #expect(try list.add(contentsOf: [String]()).isEmpty)
        // Another program has written to the file: it is replaced, not appended to.
        try stage.place.write(Array("nonsense".utf8), to: "app/list.json")
        let last = try list.add(stage.server.text("film.bin"))
        await list.close()
        list = try stage.open()
        #expect(list.downloads == added + [last])
        #expect(list.downloads.map { $0.userInfo["n"] } == ["0", "1", "2", nil])
        await list.close()
    }
}

// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Testing
import TransferTesting

@testable import Control

@Suite("Spools of sessions")
struct SpoolTests {
    private static func call(_ number: Int64, _ key: String) -> SpooledCall {
        SpooledCall(number: number, key: key, method: "martlet.add", parameters: ["number": .integer(number)])
    }

    private static func opening() -> [UInt8] {
        SpoolLine.call(
            SpooledCall(number: 0, key: "open", method: "martlet.openSession", parameters: ["identifier": "s"])
        )
        .json.bytes + [0x0A]
    }

    @Test("keep the calls that the daemon has not answered, in their order")
    func unanswered() {
        var bytes = Self.opening()
        for number in 1...4 { bytes += SpoolLine.call(Self.call(Int64(number), "\(number)")).json.bytes + [0x0A] }
        bytes += SpoolLine.answered([1, 3]).json.bytes + [0x0A]
        let contents = SpoolContents(parsing: bytes)
        #expect(contents.opening?["identifier"]?.string == "s")
        #expect(contents.calls.map(\.number) == [2, 4])
        #expect(contents.unreadable == 0)
    }

    @Test("perform only the last call of a key, and none once that is answered")
    func replaced() {
        var bytes = Self.opening()
        for (number, key) in [(1, "a"), (2, "b"), (3, "a"), (4, "b")] {
            bytes += SpoolLine.call(Self.call(Int64(number), key)).json.bytes + [0x0A]
        }
        bytes += SpoolLine.answered([4]).json.bytes + [0x0A]
        #expect(SpoolContents(parsing: bytes).calls.map(\.number) == [3])
    }

    @Test("are read up to any byte at which their program was killed")
    func torn() {
        var bytes = Self.opening()
        var ends = [bytes.count]
        for number in 1...3 {
            bytes += SpoolLine.call(Self.call(Int64(number), "\(number)")).json.bytes + [0x0A]
            ends.append(bytes.count)
        }
        for length in 0...bytes.count {
            let contents = SpoolContents(parsing: bytes[..<length])
            #expect(contents.calls.count == max(0, ends.count { $0 <= length } - 1))
            #expect((contents.opening != nil) == (length >= ends[0]))
            #expect(contents.unreadable == 0)
        }
    }

    @Test("skip lines other than calls")
    func unreadable() {
        let bytes = Self.opening() + Array("{\"n\":1}\nnonsense\n".utf8) + SpoolLine.call(Self.call(2, "b")).json.bytes
        let contents = SpoolContents(parsing: bytes + [0x0A])
        #expect(contents.calls.map(\.number) == [2] && contents.unreadable == 2)
    }

    @Test("belong to their program while it lives, and then to the finder")
    func ownership() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("spools")
        #expect(OrphanedSpool.all(in: path) { _ in }.isEmpty)
        var spool: CommandSpool? = try CommandSpool.make(in: path, name: "s.1", opening: ["identifier": "s"])
        try spool?.append(Self.call(1, "1"))
        try spool?.append(Self.call(2, "2"))
        spool?.answered([1], isAll: false)
        #expect(OrphanedSpool.all(in: path) { _ in }.isEmpty)
        spool = nil
        var found = OrphanedSpool.all(in: path) { _ in }
        #expect(found.map(\.contents.calls).map { $0.map(\.number) } == [[2]])
        // A second finder does not get what the first one has.
        #expect(OrphanedSpool.all(in: path) { _ in }.isEmpty)
        found[0].remove()
        found = []
        #expect(OrphanedSpool.all(in: path) { _ in }.isEmpty)
    }

    @Test("are emptied when every call has its response, and then reused")
    func emptied() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("spools")
        var spool: CommandSpool? = try CommandSpool.make(in: path, name: "s.1", opening: ["identifier": "s"])
        for number in 1...100 { try spool?.append(Self.call(Int64(number), "\(number)")) }
        spool?.answered(Array(1...100), isAll: true)
        #expect(try directory.read("spools/s.1").count < 200)
        try spool?.append(Self.call(101, "101"))
        spool = nil
        #expect(OrphanedSpool.all(in: path) { _ in }.map(\.contents.calls).map { $0.map(\.number) } == [[101]])
    }
}

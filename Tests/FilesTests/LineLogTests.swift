// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Files

@Suite("A log of lines")
struct LineLogTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func log(_ path: String, version: Int = 1) -> LineLog { LineLog(path, format: "test", version: version) }

    @Test("has what was appended, and is private")
    func appended() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("log")
        var log = self.log(path)
        #expect(try log.read() == nil)
        #expect(try !log.append(Self.bytes("x")))
        try log.replace([Self.bytes("a"), Self.bytes("b")])
        #expect(try log.append(Self.bytes("c")))
        var other = self.log(path)
        #expect(try other.read() == ["a", "b", "c"].map(Self.bytes))
        #expect(try other.append(Self.bytes("d")))
        #expect(log.hasChanged && !other.hasChanged)
        #expect(try log.readAppended() == [Self.bytes("d")])
        #expect(try log.append(Self.bytes("e")))
        #expect(TemporaryDirectory.permissions(of: path) == 0o600)
    }

    @Test("with a nonsensical number of lines is damaged", arguments: [-1, -5, 1 << 40])
    func badCount(_ count: Int64) throws {
        let directory = try TemporaryDirectory()
        let header = "{\"format\":\"test\",\"version\":1,\"snapshot\":\(count)}"
        func digits(_ value: UInt32) -> String {
            let text = String(value, radix: 16)
            return String(repeating: "0", count: 8 - text.count) + text
        }
        let checksum = CRC32C.checksum(Self.bytes(header))
        let line = digits(checksum) + digits(UInt32(header.utf8.count)) + " " + header + "\n"
        try directory.write(Self.bytes(line), to: "log")
        var log = self.log(directory.path("log"))
        let error = #expect(throws: StorageError.self) { try log.read() }
        #expect(error?.message.contains("damaged") == true)
    }

    @Test("has every appended line that is complete, wherever a crash cut it")
    func torn() throws {
        let directory = try TemporaryDirectory()
        var log = self.log(directory.path("log"))
        try log.replace([Self.bytes("{\"a\":1}")])
        let snapshot = try directory.read("log").count
        var ends = [snapshot]
        for text in ["first", "second", "third"] {
            #expect(try log.append(Self.bytes(text)))
            ends.append(try directory.read("log").count)
        }
        let whole = try directory.read("log")
        for length in snapshot...whole.count {
            // The end of the line that was written may also have zeros.
            let next = ends.first { $0 > length } ?? length
            for tail in Set([0, min(7, next - length), next - length]) {
                try directory.write(whole[..<length] + [UInt8](repeating: 0, count: tail), to: "torn")
                var torn = self.log(directory.path("torn"))
                let complete = ends.lastIndex { $0 <= length } ?? 0
                #expect(try torn.read()?.count == 1 + complete, "\(length)")
                #expect(try torn.append(Self.bytes("more")))
                var again = self.log(directory.path("torn"))
                #expect(try again.read()?.last == Self.bytes("more"), "\(length)")
                #expect(try again.read()?.count == 2 + complete, "\(length)")
            }
        }
        // A snapshot is replaced atomically: a part of one is damage.
        for length in 0..<snapshot {
            try directory.write(Array(whole[..<length]), to: "torn")
            var torn = self.log(directory.path("torn"))
            #expect(throws: StorageError.self, "\(length)") { try torn.read() }
        }
    }

    @Test("is never read with a changed byte, except in the last line, which is dropped")
    func damaged() throws {
        let directory = try TemporaryDirectory()
        var log = self.log(directory.path("log"))
        try log.replace([Self.bytes("one"), Self.bytes("two")])
        #expect(try log.append(Self.bytes("three")))
        let complete = try directory.read("log").count
        #expect(try log.append(Self.bytes("four")))
        let whole = try directory.read("log")
        for index in 0..<complete {
            var bytes = whole
            bytes[index] ^= 0x04
            try directory.write(bytes, to: "damaged")
            var damaged = self.log(directory.path("damaged"))
            let error = #expect(throws: StorageError.self, "\(index)") { try damaged.read() }
            #expect(error?.code == .badJournal)
            #expect(error?.message.contains("restore") ?? false)
        }
        var newer = self.log(directory.path("new"), version: 2)
        try newer.replace([])
        var older = self.log(directory.path("new"))
        #expect(throws: StorageError.self) { try older.read() }
    }

    @Test("should be replaced when most of it was appended")
    func bloated() throws {
        let directory = try TemporaryDirectory()
        var log = self.log(directory.path("log"))
        try log.replace([])
        let line = [UInt8](repeating: 0x61, count: 9000)
        for _ in 0..<7 { #expect(try log.append(line)) }
        #expect(!log.isBloated)
        #expect(try log.append(line))
        #expect(log.isBloated)
        var read = self.log(log.path)
        _ = try read.read()
        #expect(read.isBloated)
        try log.replace([line])
        #expect(!log.isBloated)
    }
}

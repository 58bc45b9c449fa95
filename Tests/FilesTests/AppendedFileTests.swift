// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Files

@Suite struct AppendedFileTests {
    let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    private func file(_ name: String, upTo end: Int64, of length: Int64) -> AppendedFile {
        var file = AppendedFile(self.directory.path(name))
        file.wasRead(upTo: end, of: length)
        return file
    }

    @Test("Bytes are appended to a regular file of the expected length, and to nothing else")
    func appending() throws {
        var missing = self.file("list", upTo: 0, of: 0)
        #expect(try !missing.append([1]))
        #expect(self.directory.entries() == [])
        try self.directory.write([1, 2], to: "list")
        var unread = AppendedFile(self.directory.path("list"))
        #expect(try !unread.append([3]))
        var list = self.file("list", upTo: 2, of: 2)
        #expect(try list.append([3]) && list.append([4, 5]))
        #expect(list.end == 5 && !list.hasChanged)
        for end in [0, 4, 6] as [Int64] {
            var other = self.file("list", upTo: end, of: end)
            #expect(other.hasChanged)
            #expect(try !other.append([6]))
        }
        #expect(try self.directory.read("list") == [1, 2, 3, 4, 5])
        try self.directory.link("link", to: self.directory.path("list"))
        for name in ["link", ""] {
            var other = self.file(name, upTo: 5, of: 5)
            #expect(try !other.append([6]))
        }
        var below = self.file("list/below", upTo: 0, of: 0)
        #expect(throws: StorageError.self) { try below.append([6]) }
        #expect(try self.directory.read("list") == [1, 2, 3, 4, 5])
    }

    @Test("An incomplete last line is removed by the next append, unless somebody else has removed more")
    func tornEnd() throws {
        try self.directory.write(Array("a\nb\nc".utf8), to: "list")
        var list = self.file("list", upTo: 4, of: 5)
        #expect(try list.append(Array("d\n".utf8)))
        #expect(try self.directory.read("list") == Array("a\nb\nd\n".utf8))
        #expect(list.end == 6)
        try self.directory.write(Array("a\n".utf8), to: "list")
        var shorter = self.file("list", upTo: 4, of: 5)
        #expect(try !shorter.append(Array("e\n".utf8)))
        #expect(try self.directory.read("list") == Array("a\n".utf8))
    }

    @Test("A replaced file can be appended to, and is bloated when most of it is obsolete and that is more than 64 KiB")
    func replacing() throws {
        var list = AppendedFile(self.directory.path("list"))
        try list.replace([1, 2])
        #expect(try list.append([3]))
        #expect(try self.directory.read("list") == [1, 2, 3])
        #expect(!AppendedFile.isBloated(obsolete: 65_536, current: 0))
        #expect(AppendedFile.isBloated(obsolete: 65_537, current: 65_536))
        #expect(!AppendedFile.isBloated(obsolete: 65_537, current: 65_537))
    }
}

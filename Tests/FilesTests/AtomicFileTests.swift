// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import Files

@Suite struct AtomicFileTests {
    let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    private func mode(_ name: String) -> mode_t {
        var status = stat()
        return lstat(self.directory.path(name), &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test("A file is made, replaced and read whole, and nothing else is left in its directory")
    func replacing() throws {
        let path = self.directory.path("jar")
        #expect(try AtomicFile.read(path, atMost: 10) == nil)
        try AtomicFile.replace(path, with: Array("first".utf8))
        #expect(try AtomicFile.read(path, atMost: 5) == Array("first".utf8))
        let long = [UInt8](repeating: 7, count: 300_000)
        try AtomicFile.replace(path, with: long)
        #expect(try AtomicFile.read(path, atMost: 300_000) == long)
        try AtomicFile.replace(path, with: [])
        #expect(try AtomicFile.read(path, atMost: 0) == [])
        #expect(self.directory.entries() == ["jar"])
    }

    @Test("Only the owner may read a new file, whatever the old one's permissions and the umask")
    func permissions() throws {
        try self.directory.write([1], to: "jar")
        chmod(self.directory.path("jar"), 0o666)
        try AtomicFile.replace(self.directory.path("jar"), with: [2])
        #expect(self.mode("jar") == 0o600)
        try AtomicFile.replace(self.directory.path("open"), with: [2], mode: 0o666)
        #expect(self.mode("open") == 0o666)
        try AtomicFile.replace(self.directory.path("locked"), with: [2], mode: 0o400)
        #expect(self.mode("locked") == 0o400)
    }

    @Test("A reader of the old file keeps reading the old file")
    func oldReader() throws {
        try self.directory.write(Array("old".utf8), to: "jar")
        let file = FileDescriptor(open(self.directory.path("jar"), O_RDONLY))
        try AtomicFile.replace(self.directory.path("jar"), with: Array("new, and longer".utf8))
        #expect(try file.bytes(3) == Array("old".utf8))
        #expect(try self.directory.read("jar") == Array("new, and longer".utf8))
    }

    @Test("A symbolic link is replaced, and what it points to is left alone")
    func links() throws {
        try self.directory.write([1], to: "victim")
        try self.directory.link("jar", to: "victim")
        #expect(try AtomicFile.read(self.directory.path("jar"), atMost: 9) == [1])
        try AtomicFile.replace(self.directory.path("jar"), with: [2])
        #expect(try self.directory.read("victim") == [1])
        #expect(try self.directory.read("jar") == [2])
        #expect(self.mode("jar") == 0o600)
    }

    @Test("A failed replacement leaves what was there, and no temporary file")
    func failures() throws {
        mkdir(self.directory.path("folder"), 0o755)
        try self.directory.write([1], to: "folder/inside")
        #expect(failure { try AtomicFile.replace(self.directory.path("folder"), with: [2]) }?.code == .exists)
        #expect(self.directory.entries() == ["folder"])
        #expect(try self.directory.read("folder/inside") == [1])
        let missing = self.directory.path("missing/jar")
        #expect(failure { try AtomicFile.replace(missing, with: [2]) }?.code == .cannotCreateDirectory)
        for path in ["", "/", ".", "..", self.directory.path("folder/"), self.directory.path("folder/..")] {
            #expect(failure { try AtomicFile.replace(path, with: [2]) }?.code == .cannotCreate, "\(path)")
        }
        #expect(failure { try AtomicFile.replace(self.directory.path("a\0b"), with: [2]) }?.code == .cannotOpen)
        #expect(failure { _ = try AtomicFile.read(self.directory.path("a\0b"), atMost: 1) }?.code == .cannotOpen)
        #expect(self.directory.entries() == ["folder"])
    }

    @Test("A file that is longer than asked for, or a directory, is not read")
    func refusedReads() throws {
        try self.directory.write([1, 2, 3], to: "jar")
        let path = self.directory.path("jar")
        #expect(failure { _ = try AtomicFile.read(path, atMost: 2) }?.code == .inputOutput)
        #expect(failure { _ = try AtomicFile.read(path, atMost: -1) }?.code == .inputOutput)
        #expect(failure { _ = try AtomicFile.read(self.directory.path, atMost: 2) }?.code == .cannotOpen)
        #expect(try AtomicFile.read(self.directory.path("none/jar"), atMost: 2) == nil)
        #expect(failure { _ = try AtomicFile.read(self.directory.path("jar/x"), atMost: 2) }?.code == .cannotOpen)
    }

    @Test("A pipe is read to its end")
    func pipes() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        #expect(write(ends[1], "abc", 3) == 3)
        close(ends[1])
        defer { close(ends[0]) }
        #expect(try AtomicFile.read("/dev/fd/\(ends[0])", atMost: 3) == Array("abc".utf8))
    }

    @Test("Of many writers at once one wins whole")
    func manyWriters() async throws {
        let path = self.directory.path("jar")
        await withTaskGroup(of: Void.self) { group in
            for writer in UInt8(1)...8 {
                group.addTask {
                    for _ in 0..<5 { try? AtomicFile.replace(path, with: [UInt8](repeating: writer, count: 70_000)) }
                }
            }
        }
        let bytes = try #require(try AtomicFile.read(path, atMost: 70_000))
        #expect(bytes.count == 70_000 && Set(bytes).count == 1)
        #expect(self.directory.entries() == ["jar"])
    }
}

extension FileDescriptor {
    fileprivate func bytes(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeMutableBytes { self.read(into: $0, at: 0) }
        try #require(result == count)
        return bytes
    }
}

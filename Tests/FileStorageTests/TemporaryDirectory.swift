import Glibc
import Testing
import TransferCore
import TransferEngine

@testable import FileStorage

/// A fresh directory that goes away with the test.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/martlet-test-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        self.path = try #require(made)
    }

    deinit { Self.remove(self.path) }

    func target(_ name: String) -> FileTarget { FileTarget(directory: self.path, name: name) }

    func path(_ name: String) -> String { self.path + "/" + name }

    func write(_ name: String, _ bytes: [UInt8]) {
        let raw = open(self.path(name), O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        let file = FileDescriptor(raw)
        _ = bytes.withUnsafeBytes { file.write($0, at: 0) }
    }

    func read(_ name: String) -> [UInt8]? {
        let raw = open(self.path(name), O_RDONLY)
        guard raw >= 0 else { return nil }
        let file = FileDescriptor(raw)
        let size = Int64(file.status()?.st_size ?? 0)
        return try? file.bytes(0..<size, path: name)
    }

    var names: [String] { Self.names(self.path) }

    private static func names(_ path: String) -> [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func remove(_ path: String) {
        for name in Self.names(path) where unlink(path + "/" + name) != 0 { Self.remove(path + "/" + name) }
        rmdir(path)
    }
}

extension PartialFile {
    /// Writes bytes from an offset in an extent of their own.
    func put(_ bytes: [UInt8], at offset: Int64, ending: Bool = true) throws {
        let extent = try #require(self.beginExtent(at: offset))
        try bytes.withUnsafeBytes { try self.write($0, extent: extent) }
        if ending { self.endExtent(extent) }
    }

    /// Lets go as a crash would: nothing is synced.
    func crash() { (self as? DiskPartialFile)?.abandon() }
}

extension SmallFile {
    func put(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try self.append($0) } }
}

extension DiskStore {
    /// The extents vouched for, as a new process finds them.
    func extents(_ target: FileTarget) throws -> [ByteRange] {
        let file = try self.openPartial(target)
        defer { file.crash() }
        return file.initialExtents
    }
}

let firstBoot = BootID(low: 1, high: 1)
let secondBoot = BootID(low: 2, high: 1)
let someFacts = ResourceFacts(
    url: "http://example.org/a",
    finalURL: "http://example.org/b",
    length: 10,
    entityTag: "\"x\"",
    lastModified: nil,
    date: "Sat, 21 Nov 2026 14:00:00 GMT"
)

func pattern(_ count: Int, from offset: Int = 0) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 + offset) &* 31 &+ ($0 + offset) / 251) }
}

/// Runs a call and returns the storage error it throws.
func failure(_ body: () throws -> Void) -> StorageError? {
    do {
        try body()
        return nil
    } catch {
        return error as? StorageError
    }
}

// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import FileStorage

extension TemporaryDirectory {
    func target(_ name: String) -> FileTarget { FileTarget(directory: self.path, name: name) }

    /// The bytes of a file, or `nil` where there is none.
    func contents(_ name: String) -> [UInt8]? { try? self.read(name) }
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

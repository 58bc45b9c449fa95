// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Files
import Platform
import TransferCore

/// The temporary directory of a demo.
struct DemoDirectory {
    let path: String

    /// Creates a directory below `TMPDIR`, or `/tmp`.
    ///
    /// - Throws: ``SyntaxError`` if it cannot be created.
    init() throws(SyntaxError) {
        let base = getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        var template = Array((base + "/martlet-demo-XXXXXX").utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let made else {
            throw SyntaxError(
                "cannot create a directory in '\(DisplayText.clean(base))': \(String(cString: strerror(errno))); "
                    + "set TMPDIR to a directory that can be written"
            )
        }
        self.path = made
    }

    /// Checks that the filesystem has enough free space.
    ///
    /// - Parameter count: The number of bytes needed.
    /// - Throws: ``SyntaxError`` if less is free.
    func requireSpace(_ count: Int64) throws(SyntaxError) {
        let directory = FileDescriptor(open(self.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        guard directory.raw >= 0, let free = FreeSpace.bytes(directory), free < count else { return }
        let parent = self.path.prefix(upTo: self.path.lastIndex(of: "/") ?? self.path.endIndex)
        throw SyntaxError(
            "the demo needs \(Quantity.bytes(count)) in '\(DisplayText.clean(String(parent)))', where "
                + "\(Quantity.bytes(free)) are free; set TMPDIR to a directory with more space"
        )
    }

    /// The path of an entry.
    func path(_ name: String) -> String { self.path + "/" + name }

    /// Creates a directory in it.
    ///
    /// - Throws: ``SyntaxError`` if it cannot be created.
    func make(_ name: String) throws(SyntaxError) {
        guard mkdir(self.path(name), 0o700) == 0 || errno == EEXIST else { throw self.failure("create", name) }
    }

    /// Writes a small file.
    ///
    /// - Throws: ``SyntaxError`` if it cannot be written.
    func write(_ text: String, to name: String) throws {
        try self.write(name) { file in
            let number = Array(text.utf8).withUnsafeBytes { file.write($0, at: 0) }
            guard number == 0 else { throw self.failure("write", name, number) }
        }
    }

    /// Writes a file of arbitrary bytes.
    ///
    /// - Parameters:
    ///   - name: The file; an existing one is replaced by rename(2) when the new one is complete.
    ///   - size: The number of bytes.
    ///   - check: Called after each MiB; an error ends the writing.
    /// - Returns: The file's SHA-256 in hexadecimal digits.
    /// - Throws: ``SyntaxError`` if the file cannot be written; what `check` throws.
    func writeRandom(_ name: String, size: Int64, check: () throws -> Void) throws -> String {
        let temporary = name + ".new"
        var digest = RunningDigest(.sha256)
        var content = DemoContent()
        try self.write(temporary) { file in
            var offset: Int64 = 0
            while offset < size {
                try check()
                let bytes = content.next(Int(min(size - offset, 1 << 20)))
                let number = bytes.withUnsafeBytes { bytes in
                    digest.update(bytes)
                    return file.write(bytes, at: offset)
                }
                guard number == 0 else { throw self.failure("write", name, number) }
                offset += Int64(bytes.count)
            }
        }
        guard rename(self.path(temporary), self.path(name)) == 0 else { throw self.failure("rename", temporary) }
        return Hexadecimal.encode(digest.finalized())
    }

    /// Returns the SHA-256 of a file in hexadecimal digits; `nil` if it cannot be read.
    func digest(_ name: String) -> String? {
        let file = FileDescriptor(open(self.path(name), O_RDONLY | O_CLOEXEC))
        guard file.raw >= 0 else { return nil }
        var digest = RunningDigest(.sha256)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset: Int64 = 0
        while true {
            let count = buffer.withUnsafeMutableBytes { bytes in
                let count = file.read(into: bytes, at: offset)
                if count > 0 { digest.update(UnsafeRawBufferPointer(bytes.part(0..<count))) }
                return count
            }
            if count < 0 { return nil }
            if count == 0 { return Hexadecimal.encode(digest.finalized()) }
            offset += Int64(count)
        }
    }

    /// Returns the size of a file; `nil` without one.
    func size(_ name: String) -> Int64? {
        var status = stat()
        return stat(self.path(name), &status) == 0 ? Int64(status.st_size) : nil
    }

    /// Returns the text of a small file, such as a log; empty without one.
    func text(_ name: String) -> String {
        let bytes = try? AtomicFile.read(self.path(name), atMost: 1 << 20)
        return String(decoding: bytes ?? [], as: UTF8.self)
    }

    /// Removes a file, if there is one.
    func remove(_ name: String) { unlink(self.path(name)) }

    /// Removes the directory with its contents.
    func remove() { Self.remove(self.path) }

    private func write(_ name: String, _ body: (FileDescriptor) throws -> Void) throws {
        let file = FileDescriptor(open(self.path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600))
        guard file.raw >= 0 else { throw self.failure("create", name) }
        try body(file)
        let number = file.close()
        guard number == 0 else { throw self.failure("write", name, number) }
    }

    private func failure(_ verb: String, _ name: String, _ number: Int32 = errno) -> SyntaxError {
        SyntaxError(
            "cannot \(verb) '\(DisplayText.clean(self.path(name)))': \(String(cString: strerror(number))); "
                + "set TMPDIR to a directory with more space"
        )
    }

    /// Does not follow symbolic links.
    private static func remove(_ path: String) {
        if unlink(path) == 0 || errno == ENOENT { return }
        if let directory = opendir(path) {
            var names: [String] = []
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
                }
                if name != "." && name != ".." { names.append(name) }
            }
            closedir(directory)
            for name in names { Self.remove(path + "/" + name) }
        }
        rmdir(path)
    }
}

/// Bytes that differ from run to run, and that no filesystem can compress.
///
/// - Source: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
struct DemoContent {
    private var state: UInt64

    /// Creates content from a seed.
    init(seed: UInt64 = .random(in: .min ... .max)) { self.state = seed }

    /// Returns the following bytes.
    mutating func next(_ count: Int) -> [UInt8] {
        var state = self.state
        defer { self.state = state }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            var offset = 0
            // Bounds: the buffer has `count` bytes, and each offset below is less.
            while offset < count {
                state &+= 0x9E37_79B9_7F4A_7C15
                var word = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
                word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
                word ^= word >> 31
                if count - offset >= 8 {
                    bytes.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
                    offset += 8
                    continue
                }
                for _ in offset..<count {
                    bytes[offset] = UInt8(truncatingIfNeeded: word)
                    word >>= 8
                    offset += 1
                }
            }
            filled = count
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Files
internal import Platform
internal import TransferCore

/// The file of the shard that is filled.
///
/// Samples are collected in a buffer of about ``capacity`` bytes; larger ones are written directly. A sample is
/// appended completely or not at all: the bytes of one that failed are overwritten by the next one.
struct ShardFile {
    /// The number of bytes that are written at once.
    static let capacity = 1 << 20
    /// Files of at most this length are read into the buffer, longer ones are copied by the kernel.
    private static let copied: Int64 = 256 << 10

    /// The open file.
    let descriptor: FileDescriptor
    /// The path, for messages.
    let path: String
    /// The number of bytes of the file that belong to the shard.
    private var written: Int64 = 0
    private var buffer: [UInt8] = []

    /// Takes over an empty file.
    init(_ descriptor: FileDescriptor, path: String) {
        self.descriptor = descriptor
        self.path = path
        self.buffer.reserveCapacity(Self.capacity)
    }

    /// Appends a sample.
    ///
    /// - Throws: ``StorageError`` if writing fails, or if the content cannot be read or is shorter than its length; the
    ///   shard is unchanged.
    mutating func append(_ members: SampleMembers, _ content: SampleContent) throws(StorageError) {
        if Int64(self.buffer.count) + members.size > Int64(Self.capacity) { try self.flush() }
        guard members.size <= Int64(Self.capacity), self.isBuffered(content) else {
            try self.flush()
            return try self.write(members, content)
        }
        let start = self.buffer.count
        members.appendHead(to: &self.buffer)
        switch content {
        case .bytes(let bytes): self.buffer.append(contentsOf: bytes)
        case .file(let file, let length):
            do throws(StorageError) {
                try self.read(file, Int(length))
            } catch {
                self.buffer.removeLast(self.buffer.count - start)
                throw error
            }
        }
        members.appendTail(to: &self.buffer)
    }

    /// Writes the end of the archive.
    ///
    /// - Returns: The size of the file.
    /// - Throws: ``StorageError``; it can be called again.
    mutating func seal() throws(StorageError) -> Int64 {
        try self.flush()
        try self.write(TarFormat.end, at: self.written)
        let size = self.written + Int64(TarFormat.end.count)
        // A larger sample may have failed halfway.
        try self.check(self.descriptor.truncate(size), "cannot truncate")
        return size
    }

    private func isBuffered(_ content: SampleContent) -> Bool {
        if case .file(_, let length) = content { length <= Self.copied } else { true }
    }

    private mutating func flush() throws(StorageError) {
        guard !self.buffer.isEmpty else { return }
        try self.write(self.buffer, at: self.written)
        self.written += Int64(self.buffer.count)
        self.buffer.removeAll(keepingCapacity: true)
    }

    // MARK: Large samples

    private mutating func write(_ members: SampleMembers, _ content: SampleContent) throws(StorageError) {
        var position = self.written
        var head: [UInt8] = []
        members.appendHead(to: &head)
        try self.write(head, at: position)
        position += Int64(head.count)
        switch content {
        case .bytes(let bytes): try self.write(bytes, at: position)
        case .file(let file, let length): try self.copy(file, length, to: position)
        }
        position += members.length
        var tail: [UInt8] = []
        members.appendTail(to: &tail)
        try self.write(tail, at: position)
        self.written = position + Int64(tail.count)
    }

    /// Copies by copy_file_range(2) as far as the file systems support it, and then through memory.
    private func copy(_ file: FileDescriptor, _ length: Int64, to position: Int64) throws(StorageError) {
        var done: Int64 = 0
        if FileCalls.lseek(file.raw, 0, SEEK_SET) == 0,
            FileCalls.lseek(self.descriptor.raw, off_t(position), SEEK_SET) >= 0
        {
            while done < length {
                let count = KernelCalls.copyRange(file.raw, self.descriptor.raw, Int(min(length - done, 1 << 30)))
                if count < 0, errno == EINTR { continue }
                // All errors occur again below, where they are reported, except those of the call itself.
                guard count > 0 else { break }
                done += Int64(count)
            }
        }
        var buffer = [UInt8](repeating: 0, count: done < length ? Self.capacity : 0)
        while done < length {
            let wanted = Int(min(length - done, Int64(buffer.count)))
            let count = buffer.withUnsafeMutableBytes { file.read(into: $0.part(0..<wanted), at: done) }
            try self.check(count, of: wanted)
            let number = buffer.withUnsafeBytes {
                self.descriptor.write($0.part(0..<wanted), at: position + done)
            }
            try self.check(number, "cannot write")
            done += Int64(wanted)
        }
    }

    // MARK: Calls

    private mutating func read(_ file: FileDescriptor, _ length: Int) throws(StorageError) {
        let start = self.buffer.count
        self.buffer.append(contentsOf: repeatElement(0, count: length))
        let count = self.buffer.withUnsafeMutableBytes {
            file.read(into: $0.part(start..<$0.count), at: 0)
        }
        try self.check(count, of: length)
    }

    private func write(_ bytes: [UInt8], at offset: Int64) throws(StorageError) {
        try self.check(bytes.withUnsafeBytes { self.descriptor.write($0, at: offset) }, "cannot write")
    }

    private func check(_ number: Int32, _ doing: String) throws(StorageError) {
        if number != 0 { throw StorageError(errno: number, otherwise: .inputOutput, doing, self.path) }
    }

    private func check(_ count: Int, of wanted: Int) throws(StorageError) {
        if count < 0 {
            throw StorageError(
                errno: Int32(-count),
                otherwise: .inputOutput,
                "cannot read the content of a sample of",
                self.path
            )
        }
        guard count == wanted else {
            throw StorageError(
                .inputOutput,
                "the content of a sample of '\(self.path)' ends after \(count) of \(wanted) bytes: its file was "
                    + "truncated; fetch it again"
            )
        }
    }
}

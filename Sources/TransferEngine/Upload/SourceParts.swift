// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The opened parts of an upload's content, with their lengths.
struct SourceParts: Sendable {
    private struct Part: Sendable {
        var start: Int64
        var length: Int64
        var bytes: [UInt8]
        var file: (any SourceFile)?
        var path = ""
        var identity: FileIdentity?
    }

    private var parts: [Part] = []
    /// The length of all parts in bytes.
    private(set) var length: Int64 = 0
    /// The identities of the files when they were opened, in order.
    private(set) var files: [FileIdentity] = []

    /// Opens the files of the content.
    init(_ content: [UploadContent.Part], in store: any FileStore) throws(StorageError) {
        self.parts.reserveCapacity(content.count)
        for part in content {
            switch part {
            case .bytes(let bytes):
                self.parts.append(Part(start: self.length, length: Int64(bytes.count), bytes: bytes))
                try self.add(Int64(bytes.count))
            case .file(let path):
                let file = try store.openSource(path)
                let identity = try file.identity()
                self.parts.append(
                    Part(
                        start: self.length,
                        length: identity.size,
                        bytes: [],
                        file: file,
                        path: path,
                        identity: identity
                    )
                )
                self.files.append(identity)
                try self.add(identity.size)
            }
        }
    }

    private mutating func add(_ count: Int64) throws(StorageError) {
        let (length, isTooLong) = self.length.addingReportingOverflow(count)
        guard !isTooLong else { throw StorageError(.inputOutput, "the total size of the files exceeds 8 EiB") }
        self.length = length
    }

    /// Returns at most `count` bytes from an offset on, all of one part.
    ///
    /// - Precondition: `offset` is in `0..<length`.
    func piece(at offset: Int64, atMost count: Int64) throws(TransferFailure) -> (piece: ContentPiece, count: Int64) {
        let part = self.parts[self.index(of: offset)]
        try Self.check(part)
        return Self.piece(of: part, at: offset - part.start, atMost: count)
    }

    private static func piece(
        of part: Part,
        at inPart: Int64,
        atMost count: Int64
    ) -> (piece: ContentPiece, count: Int64) {
        let count = min(count, part.length - inPart)
        if let file = part.file { return (.file(file, offset: inPart, count: Int(count)), count) }
        if inPart == 0, count == part.length { return (.bytes(part.bytes), count) }
        return (.bytes(Array(part.bytes[Int(inPart)..<Int(inPart + count)])), count)
    }

    /// Reads a range of the content, then compares all files with what they were when they were opened.
    func read(_ range: Range<Int64>, into buffer: UnsafeMutableRawBufferPointer) throws(TransferFailure) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let part = self.parts[self.index(of: offset)]
            let (piece, count) = Self.piece(of: part, at: offset - part.start, atMost: range.upperBound - offset)
            let start = Int(offset - range.lowerBound)
            let space = buffer.part(start..<start + Int(count))
            switch piece {
            case .bytes(let bytes): space.copyBytes(from: bytes)
            case .file(let file, let inFile, _):
                let got: Int
                do throws(StorageError) {
                    got = try file.read(into: space, at: inFile)
                } catch {
                    throw TransferFailure(error)
                }
                guard got == Int(count) else { throw Self.changed(part.path) }
            case .afterwards, .end, .failed: return
            }
            offset += count
        }
        for part in self.parts { try Self.check(part) }
    }

    /// Computes the digest of a range of the content; blocks.
    func digest(
        _ algorithm: DigestAlgorithm,
        of range: Range<Int64>,
        in store: any FileStore
    ) throws(TransferFailure) -> [UInt8]? {
        let digests = store.beginDigests([algorithm])
        var offset = range.lowerBound
        var buffer = [UInt8](repeating: 0, count: Int(min(1 << 20, range.upperBound - offset)))
        while offset < range.upperBound {
            let next = min(offset + Int64(buffer.count), range.upperBound)
            let count = Int(next - offset)
            var failure: TransferFailure?
            buffer.withUnsafeMutableBytes { space in
                let space = space.part(0..<count)
                do throws(TransferFailure) { try self.read(offset..<next, into: space) } catch { failure = error }
                if failure == nil { digests.update(UnsafeRawBufferPointer(space)) }
            }
            if let failure { throw failure }
            offset = next
        }
        return digests.digests()[algorithm]
    }

    /// Whether the files have changed since they were opened.
    var state: UploadMachine.ContentState {
        var state = UploadMachine.ContentState.unchanged
        for part in self.parts {
            guard let file = part.file else { continue }
            do throws(StorageError) {
                guard try Self.isUnchanged(part, file) else { return .changed(Self.changed(part.path)) }
            } catch {
                state = .unreadable(TransferFailure(error))
            }
        }
        return state
    }

    private static func isUnchanged(_ part: Part, _ file: any SourceFile) throws(StorageError) -> Bool {
        let identity = try file.identity()
        return part.identity.map { identity.matches($0) } ?? false
    }

    private static func check(_ part: Part) throws(TransferFailure) {
        guard let file = part.file else { return }
        let isUnchanged: Bool
        do throws(StorageError) {
            isUnchanged = try Self.isUnchanged(part, file)
        } catch {
            throw TransferFailure(error)
        }
        guard isUnchanged else { throw Self.changed(part.path) }
    }

    static func changed(_ path: String) -> TransferFailure {
        TransferFailure(
            .fileIO,
            "\(path) changed during the upload, so the server's copy may mix two versions",
            remedy: "send it again when no program is writing to it"
        )
    }

    private func index(of offset: Int64) -> Int {
        var (low, high) = (0, self.parts.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if self.parts[middle].start <= offset { low = middle } else { high = middle - 1 }
        }
        // If several parts start here, all but the last are empty.
        return low
    }
}

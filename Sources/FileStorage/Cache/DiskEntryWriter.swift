// SPDX-License-Identifier: Apache-2.0
import Files
internal import Crypto
internal import TransferCore

/// Writes the file of a stored response under a temporary name.
final class DiskEntryWriter: CacheEntryWriter {
    private let store: DiskResponseStore
    private let key: CacheKey
    private let response: StoredResponse
    private let selection: CacheSelection
    private let fields: [UInt8]
    private let file: FileDescriptor
    private let name: String
    private var digest = SHA256()
    private var length: Int64 = 0
    private var isNamed = true

    init(
        _ store: DiskResponseStore,
        _ key: CacheKey,
        _ response: StoredResponse,
        _ selection: CacheSelection
    ) throws(StorageError) {
        self.store = store
        self.key = key
        self.response = response
        self.selection = selection
        self.fields = response.encodedFields
        (self.file, self.name) = try store.createTemporary()
    }

    deinit { self.discard() }

    private var bodyStart: Int64 { Int64(CacheEntryFormat.headerLength + self.fields.count) }

    func write(_ bytes: [UInt8]) throws(StorageError) {
        try self.write(bytes, at: self.bodyStart + self.length)
        self.digest.update(data: bytes)
        self.length += Int64(bytes.count)
    }

    private func write(_ bytes: [UInt8], at offset: Int64) throws(StorageError) {
        let number = bytes.withUnsafeBytes { self.file.write($0, at: offset) }
        if number != 0 { throw self.store.error(number, "cannot store a response in") }
    }

    func finish() throws(StorageError) -> Int64 {
        let header = CacheEntryFormat.header(
            self.key,
            self.response,
            self.selection,
            fields: self.fields,
            bodyLength: self.length,
            bodyDigest: Array(self.digest.finalize())
        )
        try self.write(header + self.fields, at: 0)
        self.store.noteUse(self.file)
        // Not synced: after a power failure the digest shows whether the file is whole.
        let number = self.file.close()
        if number != 0 { throw self.store.error(number, "cannot store a response in") }
        return self.bodyStart + self.length
    }

    func commit() throws(StorageError) {
        try self.store.rename(self.name, self.key)
        self.isNamed = false
    }

    func discard() {
        if self.isNamed { self.store.unlink(self.name) }
        self.isNamed = false
    }
}

// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
internal import TransferCore
import TransferEngine

/// An extended attribute that records a fact about a finished file, as "SIZE MTIME VALUE".
///
/// The size and modification time of the file are included, so that the value is ignored once the file has changed.
enum FileAttribute: String {
    /// The validators of the file's response: entity tag, Last-Modified and Date, one per line.
    case version = "user.martlet.version"
    /// The entity tag only, as stored by builds before November 2026.
    case entityTag = "user.martlet.etag"
    /// The mark of the file's transfer, which detects a crash between the rename and the record of it.
    case mark = "user.martlet.transfer"

    /// The maximum size of a value in bytes.
    static let longest = 900

    /// Stores a value, if there is one and the filesystem supports it.
    ///
    /// - Precondition: The file's size and modification time are final.
    func store(_ value: String?, on file: FileDescriptor) {
        guard let value, value.utf8.count <= Self.longest, let status = file.status() else { return }
        let text = "\(status.st_size) \(status.modificationTime.tv_sec) \(value)"
        _ = KernelCalls.setAttribute(file.raw, self.rawValue, Array(text.utf8))
    }

    /// Whether an error of this machine, and not the lack of an attribute or of the support for them, prevents reading.
    private static func isShortage(_ number: Int32) -> Bool {
        switch number {
        case EMFILE, ENFILE, ENOMEM, EIO, ESTALE: true
        default: false
        }
    }

    /// Reads the value of a file whose status is `status`; `nil` if there is none or the file has changed.
    ///
    /// - Throws: ``StorageError`` if the attributes cannot be read although the filesystem supports them.
    func read(_ directory: DirectoryHandle, _ name: String, _ status: stat) throws(StorageError) -> String? {
        guard let value = KernelCalls.attribute(in: directory.raw, name, self.rawValue) else {
            if Self.isShortage(errno) {
                throw StorageError(
                    errno: errno,
                    otherwise: .inputOutput,
                    "cannot read the attributes of",
                    directory.path(name)
                )
            }
            return nil
        }
        let parts = String(decoding: value, as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard parts.count == 3, Int64(parts[0]) == Int64(status.st_size),
            Int64(parts[1]) == Int64(status.modificationTime.tv_sec)
        else { return nil }
        return String(parts[2])
    }
}

extension RecordedVersion {
    /// Stores the validators with a file, if the filesystem can.
    ///
    /// - Parameters:
    ///   - file: The file, with its final length and modification time.
    ///   - size: Its length in bytes.
    ///   - modified: Its modification time in seconds since 1970, if the caller has set it.
    func store(on file: FileDescriptor, size: Int64, modified: Int64?) {
        guard let modified = modified ?? (file.status()?.modificationTime.tv_sec).map({ Int64($0) }) else { return }
        var text: [UInt8] = []
        text.reserveCapacity(160)
        text.append(decimal: size)
        text.append(0x20)
        text.append(decimal: modified)
        text.append(0x20)
        if let field = self.entityTag { text.append(field) }
        text.append(0x0A)
        if let field = self.lastModified { text.append(field) }
        text.append(0x0A)
        if let field = self.date { text.append(field) }
        guard text.count <= FileAttribute.longest else { return }
        _ = KernelCalls.setAttribute(file.raw, FileAttribute.version.rawValue, text)
    }

    /// Reads the validators of a file whose status is `status`; `nil` if none are stored or the file was changed since.
    static func read(
        _ directory: DirectoryHandle,
        _ name: String,
        _ status: stat
    ) throws(StorageError) -> RecordedVersion? {
        guard let text = try FileAttribute.version.read(directory, name, status) else {
            return try FileAttribute.entityTag.read(directory, name, status).map { RecordedVersion(entityTag: $0) }
        }
        let fields = text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
        guard fields.count == 3 else { return nil }
        return RecordedVersion(entityTag: fields[0], lastModified: fields[1], date: fields[2])
    }
}

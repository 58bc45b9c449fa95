import Glibc
import TransferEngine

/// An extended attribute that remembers something about a finished file: "SIZE MTIME VALUE".
///
/// With the size and the time that it belongs to, it is not believed once the file was changed.
enum FileAttribute: String {
    /// The validators of the response that the file was taken from: entity tag, Last-Modified and Date, a line each.
    case version = "user.martlet.version"
    /// The entity tag alone, as builds before November 2026 stored it.
    case entityTag = "user.martlet.etag"
    /// The mark of the transfer that brought it: how a crash between the file's name and the record of it is noticed.
    case mark = "user.martlet.transfer"

    /// Stores a value, where there is one and the filesystem can.
    ///
    /// After the size and the time were set.
    func store(_ value: String?, on file: FileDescriptor) {
        guard let value, value.utf8.count <= 900, let status = file.status() else { return }
        let text = "\(status.st_size) \(status.st_mtim.tv_sec) \(value)"
        _ = LinuxCalls.setAttribute(file.raw, self.rawValue, Array(text.utf8))
    }

    /// The value for a file whose status is `status`, where it still belongs to it.
    func read(_ directory: DirectoryHandle, _ name: String, _ status: stat) -> String? {
        // The path through the descriptor stays inside the directory; lgetxattr follows no link at its end.
        guard let value = LinuxCalls.attribute("/proc/self/fd/\(directory.raw)/\(name)", self.rawValue) else {
            return nil
        }
        let parts = String(decoding: value, as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard parts.count == 3, Int64(parts[0]) == Int64(status.st_size),
            Int64(parts[1]) == Int64(status.st_mtim.tv_sec)
        else { return nil }
        return String(parts[2])
    }
}

extension RecordedVersion {
    /// Stores the validators with a file, if there are any and the filesystem can.
    func store(on file: FileDescriptor) {
        let fields = [self.entityTag ?? "", self.lastModified ?? "", self.date ?? ""]
        FileAttribute.version.store(fields.joined(separator: "\n"), on: file)
    }

    /// Reads the validators of a file whose status is `status`; `nil` if none are stored or the file was changed since.
    static func read(_ directory: DirectoryHandle, _ name: String, _ status: stat) -> RecordedVersion? {
        guard let text = FileAttribute.version.read(directory, name, status) else {
            return FileAttribute.entityTag.read(directory, name, status).map { RecordedVersion(entityTag: $0) }
        }
        let fields = text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
        guard fields.count == 3 else { return nil }
        return RecordedVersion(entityTag: fields[0], lastModified: fields[1], date: fields[2])
    }
}

import Glibc

/// An extended attribute that remembers something about a finished file: "SIZE MTIME VALUE".
///
/// With the size and the time that it belongs to, it is not believed once the file was changed.
enum FileAttribute: String {
    /// The entity tag that came with the file.
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

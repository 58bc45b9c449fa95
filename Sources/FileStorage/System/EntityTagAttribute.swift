import Glibc

/// The extended attribute that remembers a finished file's entity tag: "SIZE MTIME ETAG".
///
/// With the size and the time that it belongs to, it is not believed once the file was changed.
enum EntityTagAttribute {
    static let name = "user.martlet.etag"

    /// Stores a tag, where there is one and the filesystem can.
    ///
    /// After the size and the time were set.
    static func store(_ tag: String?, on file: FileDescriptor) {
        guard let tag, tag.utf8.count <= 900, let status = file.status() else { return }
        let value = "\(status.st_size) \(status.st_mtim.tv_sec) \(tag)"
        _ = LinuxCalls.setAttribute(file.raw, Self.name, Array(value.utf8))
    }

    /// The tag of a file whose status is `status`, where it still belongs to it.
    static func read(_ directory: DirectoryHandle, _ name: String, _ status: stat) -> String? {
        // The path through the descriptor stays inside the directory; lgetxattr follows no link at its end.
        guard let value = LinuxCalls.attribute("/proc/self/fd/\(directory.raw)/\(name)", Self.name) else { return nil }
        let parts = String(decoding: value, as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard parts.count == 3, Int64(parts[0]) == Int64(status.st_size),
            Int64(parts[1]) == Int64(status.st_mtim.tv_sec)
        else { return nil }
        return String(parts[2])
    }
}

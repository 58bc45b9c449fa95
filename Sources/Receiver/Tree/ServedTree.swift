// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import TransferCore

/// The served directory.
///
/// Nothing outside it is ever opened.
final class ServedTree: Sendable {
    /// The directory's path, for messages.
    let path: String
    /// The open directory.
    let root: OpenFile
    /// Whether names that start with a dot are served.
    let servesHidden: Bool

    /// The receiver's own names: unfinished uploads and records.
    static let ownDirectory = ".martlet-uploads"
    static let recordSuffix = ".martlet.json"
    /// The suffix of a record whose file name is too long for ``recordSuffix``; it differs so that records cannot
    /// collide.
    private static let longRecordSuffix = ".martlet-json"

    /// Opens the directory.
    ///
    /// - Throws: ``ReceiverError`` with `directory` if it is missing, is not a directory or cannot be read.
    init(_ path: String, servesHidden: Bool = false) throws(ReceiverError) {
        let raw = Platform.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else {
            let reason = errno
            let remedy =
                switch reason {
                case ENOENT: "make it or name another"
                case ENOTDIR: "name a directory; --share FILE hands over one file"
                default: "check its permissions or name another"
                }
            throw ReceiverError(.directory, "cannot serve '\(path)': \(String(cString: strerror(reason))); \(remedy)")
        }
        self.path = path
        self.root = OpenFile(raw)
        self.servesHidden = servesHidden
    }

    /// Opens the file or directory at a path.
    ///
    /// - Throws: ``TreeError``. Anything but a regular file or a directory is not found.
    func open(_ path: TreePath) throws(TreeError) -> TreeEntry {
        guard path.names.allSatisfy(self.isServed), !self.isSpecial(path) else { throw .notFound }
        let file: OpenFile
        switch self.resolve(path.names, O_RDONLY) {
        case .success(let found): file = found
        case .failure(let error): throw TreeError(number: error.number)
        }
        guard let status = file.status() else { throw .failed }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            guard !path.endsWithSlash else { throw .notFound }
            return .file(file, FileFacts(status))
        case S_IFDIR: return .directory(file)
        default: throw .notFound
        }
    }

    /// Opens a path below the root; a symlink to a file that is not served by its own path fails with `ENOENT`.
    ///
    /// - Precondition: No name is one of the receiver's own.
    /// - Returns: The descriptor, or the error number.
    func resolve(_ names: [String], _ flags: Int32) -> Result<OpenFile, SystemError> {
        let plain = BeneathOpen.open(self.root, names, flags, followingLinks: false)
        guard case .failure(let error) = plain, error.number == ELOOP else { return plain }
        let linked = BeneathOpen.open(self.root, names, flags)
        if case .success(let file) = linked, !self.isServed(file) { return .failure(SystemError(number: ENOENT)) }
        return linked
    }

    /// Whether the path is a FIFO, a socket or a device: opening one has effects, such as unblocking a FIFO's writer.
    ///
    /// Checked before the file is opened. The check follows symlinks out of the tree, but its result reveals no target.
    private func isSpecial(_ path: TreePath) -> Bool {
        guard !path.names.isEmpty else { return false }
        var status = stat()
        let result = BeneathOpen.path(path.names).withCString { fstatat(self.root.raw, $0, &status, 0) }
        guard result == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFREG && status.st_mode & S_IFMT != S_IFDIR
    }

    /// Whether a file that was opened through a symlink is served by its own path: none of its names is hidden or the
    /// receiver's own.
    ///
    /// - Source: proc_pid_fd(5); fcntl(2) of macOS, `F_GETPATH`.
    private func isServed(_ file: OpenFile) -> Bool {
        guard let path = Self.path(of: file), let root = Self.path(of: self.root), path.hasPrefix(root) else {
            return false
        }
        return path.dropFirst(root.count).split(separator: "/").allSatisfy { self.isServed(String($0)) }
    }

    private static func path(of file: OpenFile) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        #if canImport(Darwin)
        guard fcntl(file.raw, F_GETPATH, &target) == 0 else { return nil }
        let count = target.firstIndex(of: 0) ?? target.count
        #else
        let count = readlink("/proc/self/fd/\(file.raw)", &target, target.count)
        #endif
        return count > 0 ? String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Whether a name may be served: hidden names if ``servesHidden`` is set, the receiver's own names never.
    func isServed(_ name: String) -> Bool {
        guard name.utf8.first == 0x2E else { return true }
        return self.servesHidden && !Self.isOwn(name)
    }

    /// Whether a name is one of those that the receiver creates.
    ///
    /// Compares bytes, because a combining mark would change the last character of a suffix, and ignores case, for
    /// case-insensitive filesystems.
    static func isOwn(_ name: String) -> Bool {
        guard name.utf8.first == 0x2E else { return false }
        let bytes = name.utf8.map(ASCII.lowercase)
        return bytes.starts(with: ".martlet-".utf8)
            || [self.recordSuffix, self.longRecordSuffix]
                .contains {
                    bytes.suffix($0.utf8.count).elementsEqual($0.utf8)
                }
    }

    /// The name of a file's record; for a name that is too long, it has a prefix of the name and the name's digest.
    static func recordName(_ name: String) -> String {
        let whole = ".\(name)\(self.recordSuffix)"
        guard whole.utf8.count > 255 else { return whole }
        var digest = RunningDigest(.sha256)
        Array(name.utf8).withUnsafeBytes { digest.update($0) }
        let mark = "~" + Hexadecimal.encode(digest.finalized().prefix(8))
        var begin = name[...]
        while begin.utf8.count + mark.utf8.count + self.longRecordSuffix.utf8.count + 1 > 255 {
            begin.unicodeScalars.removeLast()
        }
        return ".\(begin)\(mark)\(self.longRecordSuffix)"
    }
}

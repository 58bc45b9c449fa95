// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform

/// Reads the names in a directory one by one.
final class DirectoryStream {
    #if canImport(Darwin)
    private let stream: UnsafeMutablePointer<DIR>
    #else
    private let stream: OpaquePointer
    #endif

    /// - Throws: ``TreeError`` if the directory cannot be read.
    init(_ directory: OpenFile) throws(TreeError) {
        // A separate descriptor: closedir(3) closes it, and it has its own read position.
        let copy = openat(directory.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { throw TreeError(number: errno) }
        guard let stream = fdopendir(copy) else {
            close(copy)
            throw .failed
        }
        self.stream = stream
    }

    deinit { closedir(self.stream) }

    /// The next entry: its name, or an empty one if the name is not UTF-8; `nil` at the end.
    ///
    /// - Throws: ``TreeError`` with `failed` if reading fails.
    func next() throws(TreeError) -> String? {
        errno = 0
        guard let next = readdir(self.stream) else {
            guard errno == 0 else { throw .failed }
            return nil
        }
        return withUnsafeBytes(of: &next.pointee.d_name) { bytes in
            String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) ?? ""
        }
    }
}

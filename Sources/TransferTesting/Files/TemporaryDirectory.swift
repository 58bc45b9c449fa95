// SPDX-License-Identifier: Apache-2.0
import Platform

/// A new, empty directory that is deleted with its contents at deinitialization.
public final class TemporaryDirectory: Sendable {
    /// The directory's absolute path.
    public let path: String

    /// Creates a directory in `$TMPDIR`, or in `/tmp`.
    ///
    /// - Throws: ``TestSupportError`` if it cannot be created.
    public init() throws {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array((base + "/martlet-test-XXXXXX").utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer in buffer.baseAddress.flatMap { mkdtemp($0) } }
        guard let made else {
            throw TestSupportError("cannot create a directory in \(base): \(String(cString: strerror(errno)))")
        }
        self.path = String(cString: made)
    }

    /// The path of an entry.
    public func path(_ name: String) -> String { self.path + "/" + name }

    /// The sorted names of the entries, including hidden ones.
    public func entries() -> [String] { Self.entries(of: self.path) }

    /// The permission bits of the file at a path, without following a link; `nil` if there is none.
    public static func permissions(of path: String) -> Int? {
        var status = stat()
        return lstat(path, &status) == 0 ? Int(status.st_mode & 0o7777) : nil
    }

    /// Whether an entry of this name exists, of any type; links are not followed.
    public func contains(_ name: String) -> Bool {
        var status = stat()
        return lstat(self.path(name), &status) == 0
    }

    /// The bytes of a file.
    ///
    /// - Throws: ``TestSupportError`` if it cannot be read.
    public func read(_ name: String) throws -> [UInt8] {
        let descriptor = open(self.path(name), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw TestSupportError("\(name) cannot be opened: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = buffer.withUnsafeMutableBytes { Self.readSome(descriptor, $0) }
            guard count >= 0 else {
                throw TestSupportError("\(name) cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { return result }
            result.append(contentsOf: buffer[..<count])
        }
    }

    /// Writes a file, replacing an existing one.
    ///
    /// - Parameters:
    ///   - bytes: The content.
    ///   - name: The entry's name.
    ///   - modified: The modification time to set, in seconds since 1970, or `nil`.
    /// - Throws: ``TestSupportError`` if it cannot be written.
    public func write(_ bytes: [UInt8], to name: String, modified: Int? = nil) throws {
        let descriptor = open(self.path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw TestSupportError("\(name) cannot be created: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Self.writeSome(descriptor, $0) }
            guard count >= 0 else {
                throw TestSupportError("\(name) cannot be written: \(String(cString: strerror(errno)))")
            }
            offset += count
        }
        if let modified {
            let time = timespec(tv_sec: modified, tv_nsec: 0)
            guard futimens(descriptor, [time, time]) == 0 else {
                throw TestSupportError("\(name)'s time cannot be set: \(String(cString: strerror(errno)))")
            }
        }
    }

    deinit {
        Self.remove(self.path)
    }

    private static func readSome(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        Platform.read(descriptor, buffer.baseAddress, buffer.count)
    }

    private static func writeSome(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
        Platform.write(descriptor, buffer.baseAddress, buffer.count)
    }

    /// The sorted names of the entries of a directory, including hidden ones.
    public static func entries(of path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func remove(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            unlink(path)
            return
        }
        for name in self.entries(of: path) { self.remove(path + "/" + name) }
        rmdir(path)
    }
}

/// An error of the test support.
public struct TestSupportError: Error, CustomStringConvertible {
    /// A description of the failed operation, its location and the cause.
    public let description: String

    /// Creates an error.
    public init(_ description: String) {
        self.description = description
    }
}

extension TemporaryDirectory {
    /// Creates a symbolic link.
    ///
    /// - Throws: ``TestSupportError`` if it cannot be created.
    public func link(_ name: String, to destination: String) throws {
        guard symlink(destination, self.path(name)) == 0 else {
            throw TestSupportError("\(name) cannot be linked: \(String(cString: strerror(errno)))")
        }
    }
}

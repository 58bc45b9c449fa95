// SPDX-License-Identifier: Apache-2.0
/// The names in a directory, one after another (readdir(3)).
package final class DirectoryEntries {
    #if canImport(Darwin)
    private typealias Stream = UnsafeMutablePointer<DIR>
    #else
    private typealias Stream = OpaquePointer
    #endif

    private enum Source {
        case stream(Stream)
        case simulated([String], Int32)
    }

    private let source: Source
    private var index = 0

    /// The open directory.
    package let descriptor: Int32

    /// Takes over an open directory, also if it fails.
    ///
    /// - Returns: `nil` with `errno` if it cannot be listed.
    package init?(_ descriptor: Int32) {
        self.descriptor = descriptor
        if let simulation = FileCalls.simulation {
            guard let names = simulation.names(descriptor) else {
                let number = errno
                FileCalls.close(descriptor)
                errno = number
                return nil
            }
            self.source = .simulated([".", ".."] + names, descriptor)
        } else {
            guard let stream = fdopendir(descriptor) else {
                let number = errno
                Platform.close(descriptor)
                errno = number
                return nil
            }
            self.source = .stream(stream)
        }
    }

    /// Opens a directory.
    ///
    /// - Returns: `nil` with `errno` if it cannot be opened.
    package convenience init?(path: String) {
        let descriptor = FileCalls.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        self.init(descriptor)
    }

    deinit {
        switch self.source {
        case .stream(let stream): closedir(stream)
        case .simulated(_, let descriptor): FileCalls.close(descriptor)
        }
    }

    /// Calls `body` with the bytes of the next name, `.` and `..` included.
    ///
    /// - Returns: `nil` at the end; also after an error, with `errno` other than 0.
    package func next<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        switch self.source {
        case .stream(let stream):
            // readdir(3) returns NULL both at the end and if it fails; only errno distinguishes them.
            errno = 0
            guard let entry = readdir(stream) else { return nil }
            return withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                body(UnsafeRawBufferPointer(start: bytes.baseAddress, count: bytes.firstIndex(of: 0) ?? bytes.count))
            }
        case .simulated(let names, _):
            errno = 0
            guard self.index < names.count else { return nil }
            defer { self.index += 1 }
            var name = names[self.index]
            return name.withUTF8 { body(UnsafeRawBufferPointer($0)) }
        }
    }

    /// The next name, `.` and `..` included.
    ///
    /// - Returns: `nil` at the end; also after an error, with `errno` other than 0.
    package func next() -> String? { self.next { String(decoding: $0, as: UTF8.self) } }
}

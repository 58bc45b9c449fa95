// SPDX-License-Identifier: Apache-2.0
import Dispatch
import TransferTesting

import Platform

/// The system's information about files, for tests.
enum Files {
    static func entries(of path: String) -> [String] {
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

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func remove(_ path: String) { unlink(path) }

    static func isPrivateDirectory(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_mode & 0o077 == 0
    }

    static func isPrivateFile(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0
    }
}

/// Threads of the tests' own.
enum Threads {
    /// Runs work on a new thread, which ends with it.
    static func start(_ work: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Work(run: work))
        #if canImport(Darwin)
        var thread: pthread_t?
        pthread_create(&thread, nil, { Threads.run($0) }, box.toOpaque())
        #else
        var thread = pthread_t()
        pthread_create(&thread, nil, { Threads.run($0) }, box.toOpaque())
        #endif
        #if canImport(Darwin)
        if let thread { pthread_detach(thread) }
        #else
        pthread_detach(thread)
        #endif
    }

    private static func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}

/// Waiting on a thread that may wait.
enum Waiting {
    static func block(on gate: Gate) {
        let semaphore = DispatchSemaphore(value: 0)
        gate.whenOpen { semaphore.signal() }
        semaphore.wait()
    }
}

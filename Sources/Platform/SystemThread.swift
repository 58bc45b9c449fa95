// SPDX-License-Identifier: Apache-2.0
/// Threads of the system, which may block, unlike those of Swift's concurrency pool.
package enum SystemThread {
    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Whether the calling thread is the main thread.
    package static var isMain: Bool {
        #if canImport(Darwin)
        pthread_main_np() != 0
        #else
        // gettid(2) is not exported to Swift by the C library's module; the main thread's number is the process's.
        typealias ThreadNumber = @convention(c) () -> Int32
        guard let call = unsafeBitCast(dlsym(nil, "gettid"), to: ThreadNumber?.self) else { return false }
        return call() == getpid()
        #endif
    }

    /// Identifies the calling thread among those that exist.
    package static var current: UInt {
        #if canImport(Darwin)
        UInt(bitPattern: pthread_self())
        #else
        pthread_self()
        #endif
    }

    /// Runs `body` on a new thread (pthread_create(3)).
    ///
    /// - Returns: 0 or the error number.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        let context = Unmanaged.passRetained(Body(body))
        #if canImport(Darwin)
        var created: pthread_t?
        #else
        var created = pthread_t()
        #endif
        let status = pthread_create(&created, nil, Self.main, context.toOpaque())
        guard status == 0 else {
            context.release()
            return status
        }
        #if canImport(Darwin)
        if let created { pthread_detach(created) }
        #else
        pthread_detach(created)
        #endif
        return 0
    }

    #if canImport(Darwin)
    private static let main: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { context in
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
    #else
    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
        return nil
    }
    #endif
}

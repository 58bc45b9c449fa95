import Platform

/// Starts threads that may block, unlike those of Swift's concurrency pool.
enum PosixThread {
    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new thread.
    ///
    /// - Throws: ``BadValue`` if no thread can be created.
    static func start(_ body: @escaping @Sendable () -> Void) throws(BadValue) {
        let context = Unmanaged.passRetained(Body(body))
        #if canImport(Glibc)
        var thread = pthread_t()
        let status = pthread_create(&thread, nil, Self.main, context.toOpaque())
        let started = thread
        #else
        var thread: pthread_t?
        let status = pthread_create(&thread, nil, Self.main, context.toOpaque())
        guard let started = thread else {
            context.release()
            throw BadValue("no thread could be started")
        }
        #endif
        guard status == 0 else {
            context.release()
            throw BadValue("no thread could be started: \(String(cString: strerror(status)))")
        }
        pthread_detach(started)
    }

    #if canImport(Glibc)
    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
        return nil
    }
    #else
    private static let main: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { context in
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
    #endif
}

// SPDX-License-Identifier: Apache-2.0
package import TransferEngine

/// Creates engines that use real connections, and the store that the caller provides.
package enum LiveEngine {
    /// Creates an engine with its own threads; `start()` starts it.
    ///
    /// - Throws: ``TransportError`` if the transport cannot be set up, for example because a file with certificates cannot
    ///   be read.
    package static func make(
        _ configuration: TransferEngine.Configuration = .init(),
        transport options: HTTPTransport.Configuration = .init(),
        store: any FileStore
    ) throws -> TransferEngine {
        let transport = try HTTPTransport(configuration: options)
        return self.make(configuration, transport, transport.makeTimeSource(), store, NIOBlockingPool())
    }

    /// Creates an engine on shared threads; `start()` starts it.
    ///
    /// - Parameters:
    ///   - configuration: The engine's configuration.
    ///   - options: The transport's configuration.
    ///   - loops: The threads.
    ///   - store: The store of files.
    ///   - pool: The threads for blocking calls.
    ///   - wrap: Returns the transport that the engine uses, such as a cache in front of the given one.
    /// - Returns: The engine.
    /// - Throws: ``TransportError`` as ``make(_:transport:store:)``.
    package static func make(
        _ configuration: TransferEngine.Configuration,
        transport options: HTTPTransport.Configuration,
        on loops: SharedLoops,
        store: any FileStore,
        pool: NIOBlockingPool,
        wrapping wrap: (any Transport) -> any Transport = { $0 }
    ) throws -> TransferEngine {
        let transport = try HTTPTransport(configuration: options, on: loops)
        return self.make(configuration, wrap(transport), transport.makeTimeSource(), store, pool)
    }

    /// Creates an engine on shared threads whose transport is replaced; `start()` starts it.
    package static func make(
        _ configuration: TransferEngine.Configuration,
        transport: TransportOverride,
        on loops: SharedLoops,
        store: any FileStore,
        pool: NIOBlockingPool,
        wrapping wrap: (any Transport) -> any Transport = { $0 }
    ) -> TransferEngine {
        self.make(configuration, wrap(transport.makeTransport()), loops.makeTimeSource(), store, pool)
    }

    private static func make(
        _ configuration: TransferEngine.Configuration,
        _ transport: any Transport,
        _ time: NIOTimeSource,
        _ store: any FileStore,
        _ pool: NIOBlockingPool
    ) -> TransferEngine {
        TransferEngine(configuration: configuration, transport: transport, store: store, time: time, pool: pool)
    }
}

package import FileStorage
package import HTTPTransport
package import TransferEngine

/// Makes engines that use real connections and a real disk.
package enum LiveEngine {
    /// Makes an engine with separate threads; `start()` starts it.
    ///
    /// - Throws: An error if the transport cannot be set up: a file of certificates cannot be read.
    package static func make(
        _ configuration: TransferEngine.Configuration = .init(),
        transport options: HTTPTransport.Configuration = .init()
    ) throws -> TransferEngine {
        let transport = try HTTPTransport(configuration: options)
        return self.make(configuration, transport, transport.makeTimeSource(), DiskStore(), NIOBlockingPool())
    }

    /// Makes an engine on shared threads; `start()` starts it.
    ///
    /// - Throws: An error if the transport cannot be set up: a file of certificates cannot be read.
    package static func make(
        _ configuration: TransferEngine.Configuration,
        transport options: HTTPTransport.Configuration,
        on loops: SharedLoops,
        store: DiskStore,
        pool: NIOBlockingPool
    ) throws -> TransferEngine {
        let transport = try HTTPTransport(configuration: options, on: loops)
        return self.make(configuration, transport, transport.makeTimeSource(), store, pool)
    }

    /// Makes an engine on shared threads whose transport is replaced; `start()` starts it.
    package static func make(
        _ configuration: TransferEngine.Configuration,
        transport: TransportOverride,
        on loops: SharedLoops,
        store: DiskStore,
        pool: NIOBlockingPool
    ) -> TransferEngine {
        self.make(configuration, transport.makeTransport(), loops.makeTimeSource(), store, pool)
    }

    private static func make(
        _ configuration: TransferEngine.Configuration,
        _ transport: any Transport,
        _ time: NIOTimeSource,
        _ store: DiskStore,
        _ pool: NIOBlockingPool
    ) -> TransferEngine {
        TransferEngine(
            configuration: configuration,
            transport: transport,
            store: store,
            time: time,
            pool: pool
        )
    }
}

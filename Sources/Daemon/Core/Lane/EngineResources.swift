// SPDX-License-Identifier: Apache-2.0
package import FileStorage
package import HTTPTransport
package import TransferEngine

/// The files, threads and connections that the engines of all lanes share.
///
/// The port by which simulations run engines without real connections and threads.
package struct EngineResources: Sendable {
    /// The store of files.
    package var store: DiskStore
    /// The threads for blocking calls.
    package var pool: any BlockingPool
    /// Creates an engine, without starting it.
    package var makeEngine:
        @Sendable (TransferEngine.Configuration, HTTPTransport.Configuration) throws -> TransferEngine

    /// Creates the port from its parts.
    package init(
        store: DiskStore,
        pool: any BlockingPool,
        makeEngine:
            @escaping @Sendable (TransferEngine.Configuration, HTTPTransport.Configuration) throws ->
            TransferEngine
    ) {
        self.store = store
        self.pool = pool
        self.makeEngine = makeEngine
    }

    /// Starts the threads of a daemon.
    static func live() -> EngineResources {
        let (loops, store, pool) = (SharedLoops(laneCount: 2), DiskStore(), NIOBlockingPool(threadCount: 4))
        return EngineResources(store: store, pool: pool) { configuration, transport in
            try LiveEngine.make(configuration, transport: transport, on: loops, store: store, pool: pool)
        }
    }
}

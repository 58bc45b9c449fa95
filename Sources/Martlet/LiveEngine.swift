internal import FileStorage
public import HTTPTransport
public import TransferEngine

/// The engine over real connections and a real disk.
public enum LiveEngine {
    /// Makes an engine; it waits for `start()`.
    ///
    /// - Throws: Where the transport cannot be set up: a file of certificates that cannot be read.
    public static func make(
        _ configuration: TransferEngine.Configuration = .init(),
        transport options: HTTPTransport.Configuration = .init()
    ) throws -> TransferEngine {
        let transport = try HTTPTransport(configuration: options)
        return TransferEngine(
            configuration: configuration,
            transport: transport,
            store: DiskStore(),
            time: transport.makeTimeSource(),
            pool: NIOBlockingPool()
        )
    }
}

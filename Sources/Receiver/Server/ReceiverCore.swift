internal import FileStorage
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import TransferCore

/// The state that all connections share.
final class ReceiverCore: Sendable {
    let configuration: ReceiverConfiguration
    let tree: ServedTree?
    /// The upload area, or `nil` if uploads are refused.
    let area: UploadArea?
    let shares: ShareTable
    let access: AccessControl
    let digests = DigestCache()
    let listings = ListingPlace()
    let crossOrigin: CrossOrigin
    let pool: NIOThreadPool
    let log: AccessLog?
    let router: Router
    let times: ConnectionMachine.Times
    private let mostConnections: Int
    private let isDigesting = Atomic<Bool>(false)
    private let open = Mutex<[ObjectIdentifier: any Channel]>([:])

    init(
        configuration: ReceiverConfiguration,
        tree: ServedTree?,
        area: UploadArea?,
        shares: ShareTable,
        access: AccessControl,
        router: Router,
        pool: NIOThreadPool,
        log: AccessLog?
    ) {
        self.configuration = configuration
        self.crossOrigin = CrossOrigin(allowed: configuration.allowedOrigins)
        self.tree = tree
        self.area = area
        self.shares = shares
        self.access = access
        self.router = router
        self.pool = pool
        self.log = log
        let limits = configuration.limits
        self.mostConnections = DescriptorLimit.connections(limits.connections)
        self.times = ConnectionMachine.Times(
            head: TimeAmount(limits.headTime),
            keepAlive: TimeAmount(limits.keepAlive),
            idle: TimeAmount(limits.idle),
            upload: limits.uploadTime.map { TimeAmount($0) },
            slowest: limits.slowest
        )
    }

    /// Computes a digest in the background; does nothing if another computation is running.
    func digestInBackground(_ algorithm: DigestAlgorithm, _ file: OpenFile, _ facts: FileFacts) {
        guard self.isDigesting.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else {
            return
        }
        self.pool.submit { state in
            if case .active = state { _ = self.digests.compute(algorithm, file, facts) }
            self.isDigesting.store(false, ordering: .relaxed)
        }
    }

    /// Registers a connection; returns false if the limit is reached.
    func opened(_ channel: any Channel) -> Bool {
        self.open.withLock { open in
            guard open.count < self.mostConnections else { return false }
            open[ObjectIdentifier(channel)] = channel
            return true
        }
    }

    /// Unregisters a connection.
    func closed(_ channel: any Channel) { self.open.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) } }

    /// The open connections.
    var connections: [any Channel] { self.open.withLock { Array($0.values) } }
}

// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import TransferCore

/// The state that all requests share, and the receiver's side of its HTTP server.
final class ReceiverCore: HTTPApplication {
    let configuration: ReceiverConfiguration
    let tree: ServedTree?
    /// The upload area, or `nil` if uploads are refused.
    let area: UploadArea?
    let shares: ShareTable
    /// Whether links can be made: not if another receiver stores them.
    let mayMakeLinks: Bool
    let access: AccessControl
    /// The prefix of all paths.
    let base: BasePath
    private let proxies: TrustedProxies
    let digests = DigestCache()
    let listings = ListingPlace()
    let archives = ArchivePlace()
    let gate: LinkGate
    let crossOrigin: CrossOrigin
    let pool: NIOThreadPool
    let log: AccessLog?
    let router: ReceiverRoutes
    private let isDigesting = Atomic<Bool>(false)

    init(
        configuration: ReceiverConfiguration,
        tree: ServedTree?,
        area: UploadArea?,
        shares: ShareTable,
        mayMakeLinks: Bool,
        access: AccessControl,
        base: BasePath,
        proxies: TrustedProxies,
        router: ReceiverRoutes,
        pool: NIOThreadPool,
        log: AccessLog?
    ) {
        self.configuration = configuration
        self.crossOrigin = CrossOrigin(allowed: configuration.allowedOrigins)
        self.tree = tree
        self.area = area
        self.shares = shares
        self.mayMakeLinks = mayMakeLinks
        self.access = access
        self.gate = LinkGate(access)
        self.base = base
        self.proxies = proxies
        self.router = router
        self.pool = pool
        self.log = log
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

    // MARK: HTTPApplication

    func handler(for request: inout Request) -> any RequestHandler {
        let origin = ClientOrigin(request.head.fields, peer: request.peer, proxies: self.proxies)
        request.peer = origin.address
        request.isSecure = origin.isSecure ?? request.isSecure
        request.authority = origin.host
        if request.target.path != "*" {
            guard let path = self.base.relative(request.target.path) else {
                return ImmediateHandler(
                    .message(404, "there is nothing here; the files are below \(self.base.prefix)/")
                )
            }
            request.basePath = self.base.prefix
            request.target.path = path
            if path.isEmpty { return ImmediateHandler(.message(301, "this is a directory", ["Location": "/"])) }
        }
        return self.router.handler(for: &request, self)
    }

    func prepare(_ response: inout Response, to request: Request) {
        SessionRoutes(core: self).replaceChallenge(&response, to: request)
        AbsoluteLocation.resolve(&response.fields, status: response.status, request)
        guard self.crossOrigin.isUsed, response.status >= 200 else { return }
        for (name, value) in self.crossOrigin.fields(for: request.head) { response.fields.append(name, value) }
    }

    func responded(_ response: Response, to request: Request?, _ transmission: Transmission) {
        self.log?
            .append(
                LogEntry(
                    request,
                    from: transmission.peer,
                    time: transmission.time,
                    status: response.status,
                    bytes: transmission.bytes
                )
            )
    }
}

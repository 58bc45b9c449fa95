// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// One host with the resources of several sites, behind a gateway that is out of order for some time.
final class SharedHost: SimulatedServer {
    static let name = "shared"

    /// The sites, which differ in their paths.
    var sites: [Site] = []
    /// The time from the beginning in which the gateway answers instead of the sites, in nanoseconds.
    let outage: Int64
    private let status: Int
    /// The statuses that the gateway has sent.
    private(set) var statuses: Set<Int> = []

    init(_ recipe: inout Recipe) {
        let seconds = recipe.draw(1...200)
        self.status = recipe.pick([502, 503, 504])
        let isOut = recipe.has(oneIn: 2, "the gateway of the sites answers with \(self.status) for \(seconds) s")
        self.outage = isOut ? Int64(seconds) * 1_000_000_000 : 0
    }

    private func site(_ request: ServerRequest) -> Site? {
        self.sites.first { $0.has(request.url.path) } ?? self.sites.first
    }

    func reply(to request: ServerRequest) -> ServerReply {
        guard let site = self.site(request) else { return ServerReply(404) }
        guard site.now < self.outage else { return site.reply(to: request) }
        site.tell(request, "\(self.status) of the gateway")
        self.statuses.insert(self.status)
        return ServerReply(self.status, ["Content-Length": "0"])
    }

    func delivered(_ count: Int, to request: ServerRequest) { self.site(request)?.delivered(count, to: request) }
}

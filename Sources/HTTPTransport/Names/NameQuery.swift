// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import TransferCore

/// The resolution of one name for one connection, as NIO's Happy Eyeballs (RFC 8305) requests it.
///
/// Both families are completed in the same iteration of the event loop.
///
/// `@unchecked Sendable`: the variables are used on the event loop of `lane` only. NIO queries a resolver there, the lane
/// cancels there, and a result is passed to it by `lane.execute`.
final class NameQuery: Resolver, @unchecked Sendable {
    private let origin: Origin
    private let names: NameResolver
    private let addresses: AddressRule?
    private let lane: TransportLoop
    private let timeline: ConnectionTimeline?
    private let four: EventLoopPromise<[SocketAddress]>
    private let six: EventLoopPromise<[SocketAddress]>
    private var ticket: NameResolver.Ticket?
    private var isOver = false

    /// Creates a query.
    ///
    /// - Parameters:
    ///   - origin: The host to connect to.
    ///   - names: Resolves its name.
    ///   - addresses: The addresses to which no connection is made.
    ///   - lane: The transport on the connection's event loop.
    ///   - timeline: The times of the connection, if they are to be reported.
    init(
        of origin: Origin,
        by names: NameResolver,
        addresses: AddressRule?,
        lane: TransportLoop,
        timeline: ConnectionTimeline?
    ) {
        self.origin = origin
        self.names = names
        self.addresses = addresses
        self.lane = lane
        self.timeline = timeline
        self.four = lane.loop.makePromise()
        self.six = lane.loop.makePromise()
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        self.lane.began(self)
        self.timeline?.lookupBegan()
        let age = self.lane.configuration.nameCacheTime
        self.ticket = self.names.resolve(host, maximumAge: age) { outcome in
            self.lane.execute { self.complete(outcome, port) }
        }
        return self.six.futureResult
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { self.four.futureResult }

    func cancelQueries() {
        guard !self.isOver else { return }
        if let ticket = self.ticket { self.names.cancel(ticket) }
        self.fail(NameFailure(.unavailable, "cancelled"))
    }

    private func complete(_ outcome: NameResolver.Outcome, _ port: Int) {
        guard !self.isOver else { return }
        switch outcome {
        case .failure(let failure): self.fail(failure)
        case .success(var addresses):
            if let family = self.lane.configuration.family {
                addresses.removeAll { !family.contains($0) }
                if addresses.isEmpty { return self.fail(UnusableAddress.noneOf(family)) }
            }
            // Those that remain are connected to: no second lookup could give others.
            var denial: UnusableAddress?
            addresses.removeAll { address in
                let denied = address.ipAddress.flatMap { UnusableAddress($0, of: self.origin, by: self.addresses) }
                denial = denial ?? denied
                return denied != nil
            }
            if addresses.isEmpty, let denial { return self.fail(denial) }
            self.end()
            self.timeline?.lookupEnded()
            for index in addresses.indices { addresses[index].port = port }
            self.six.succeed(addresses.filter { $0.protocol == .inet6 })
            self.four.succeed(addresses.filter { $0.protocol == .inet })
        }
    }

    private func fail(_ failure: any Error) {
        self.end()
        self.six.fail(failure)
        self.four.fail(failure)
    }

    private func end() {
        self.isOver = true
        self.lane.finished(self)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// Limits the number of open connections of a transport, over all its event loops.
///
/// Drives a ``ConnectionQuota``. A transport without limits has none.
final class OpenConnections: Sendable {
    private struct State {
        var quota: ConnectionQuota
        var permits: [Int: ConnectionPermit] = [:]
    }

    private let state: Mutex<State>
    private let suffixes: PublicSuffixes?

    /// Creates limits for one transport; `nil` without any.
    init?(_ limits: OpenConnectionLimits) {
        guard limits.perHost != nil || limits.perDomain != nil else { return nil }
        self.state = Mutex(State(quota: ConnectionQuota(perHost: limits.perHost, perDomain: limits.perDomain)))
        self.suffixes = limits.perDomain == nil ? nil : limits.suffixes ?? .builtIn
    }

    /// Requests the permit to open a connection.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - lane: The event loop of the caller.
    ///   - permitted: Called later on this event loop, unless the connection may be opened at once.
    /// - Returns: The permit, and whether the connection may be opened at once.
    func request(
        _ host: Origin,
        on lane: TransportLoop,
        _ permitted: @escaping (ConnectionPermit) -> Void
    ) -> (permit: ConnectionPermit, isOpen: Bool) {
        let domain = self.suffixes?.registeredDomain(of: host.host) ?? ""
        let (permit, steps) = self.state.withLock { state in
            let (number, steps) = state.quota.requested(host, domain: domain)
            let permit = ConnectionPermit(number, on: lane, of: self)
            state.permits[number] = permit
            return (permit, steps)
        }
        let isOpen = steps.contains(.open(permit.number))
        if !isOpen { permit.permitted = permitted }
        self.perform(steps.filter { $0 != .open(permit.number) })
        return (permit, isOpen)
    }

    /// A permit that was not given yet is not needed any more; otherwise the caller must end it.
    ///
    /// - Returns: Whether it was not given.
    func withdraw(_ permit: ConnectionPermit) -> Bool {
        self.state.withLock { state in
            guard state.quota.withdrawn(permit.number) else { return false }
            state.permits[permit.number] = nil
            return true
        }
    }

    /// A connection is idle; returns false if the caller must close it now.
    func becameIdle(_ permit: ConnectionPermit) -> Bool {
        let steps = self.state.withLock { $0.quota.becameIdle(permit.number) }
        guard !steps.isEmpty else { return true }
        self.perform(steps.filter { $0 != .close(permit.number) })
        return !steps.contains(.close(permit.number))
    }

    /// Takes an idle connection; returns false if it is being closed.
    func take(_ permit: ConnectionPermit) -> Bool { self.state.withLock { $0.quota.taken(permit.number) } }

    /// A connection is closed, or could not be opened.
    func end(_ permit: ConnectionPermit) {
        let steps = self.state.withLock { state in
            state.permits[permit.number] = nil
            return state.quota.closed(permit.number)
        }
        self.perform(steps)
    }

    private func perform(_ steps: [ConnectionQuota.Step]) {
        for step in steps {
            switch step {
            case .open(let number):
                guard let permit = self.permit(number) else { continue }
                permit.lane.execute { permit.open() }
            case .close(let number):
                guard let permit = self.permit(number) else { continue }
                permit.lane.execute { permit.closeIdleConnection() }
            }
        }
    }

    private func permit(_ number: Int) -> ConnectionPermit? { self.state.withLock { $0.permits[number] } }
}

/// The permit of one connection to be open, until it is closed.
///
/// `@unchecked Sendable`: the variables are used on the event loop of `lane` only; others only pass the permit to it.
final class ConnectionPermit: @unchecked Sendable {
    let number: Int
    let lane: TransportLoop
    private let connections: OpenConnections
    /// The connection, once it is open.
    weak var connection: ClientConnection?
    /// Opens the connection when that is permitted.
    var permitted: ((ConnectionPermit) -> Void)?

    init(_ number: Int, on lane: TransportLoop, of connections: OpenConnections) {
        self.number = number
        self.lane = lane
        self.connections = connections
    }

    /// The connection may be opened.
    func open() {
        // Without a receiver, the request has ended in the meantime.
        guard let permitted = self.permitted else { return self.end() }
        self.permitted = nil
        permitted(self)
    }

    /// Ends the wait for the permit.
    func withdraw() {
        self.permitted = nil
        // If it was given in the meantime, `open()` follows.
        _ = self.connections.withdraw(self)
    }

    /// The connection is idle; returns false if it must be closed.
    func becameIdle() -> Bool { self.connections.becameIdle(self) }

    /// Takes the idle connection; returns false if it is being closed.
    func take() -> Bool { self.connections.take(self) }

    /// The connection is closed, or could not be opened.
    func end() { self.connections.end(self) }

    /// Closes the connection, because another one needs its room.
    func closeIdleConnection() {
        // A connection that its peer has closed ends by itself.
        guard let connection = self.connection else { return }
        self.lane.forget(connection)
        connection.close()
    }
}

// SPDX-License-Identifier: Apache-2.0
/// The kind of an outage.
package enum OutageCause: String, Hashable, Sendable, CaseIterable {
    /// The host refuses connections.
    case refused
    /// The host cannot be routed to, or the network is down.
    case unreachable
    /// No name server responds.
    case resolver
    /// Connecting times out.
    case timeout
    /// Connections cannot be made for another reason.
    case connect
    /// Connections break before any response.
    case broken
    /// Responses report that the host, or a server behind it, is out of order or overloaded.
    case errors

    /// Whether other hosts are likely to fail as well.
    package var concernsNetwork: Bool { self == .unreachable || self == .resolver }

    /// Whether connections are made, so that any transfer may succeed.
    package var acceptsConnections: Bool { self == .broken || self == .errors }

    /// Whether a status can be evidence of an outage of the host.
    ///
    /// 500 is only if nothing else has come from the host, because one faulty resource has the same effect.
    ///
    /// - Source: RFC 6585 §4 (429), RFC 9110 §15.6; 520 to 530 are sent by proxies in front of servers.
    package static func isReported(by status: Int) -> Bool {
        switch status {
        case 429, 500, 502, 503, 504, 520...530: true
        default: false
        }
    }

    /// The code of the failure of a transfer that was given up in such an outage.
    package var code: TransferFailure.Code {
        switch self {
        case .refused: .connectionRefused
        case .unreachable: .hostUnreachable
        case .resolver: .nameResolution
        case .timeout: .timeout
        case .connect: .network
        case .broken: .connectionReset
        case .errors: .overloaded
        }
    }

    /// A short description of the cause.
    package var words: String {
        switch self {
        case .refused: "connection refused"
        case .unreachable: "no route to the host"
        case .resolver: "no name server responds"
        case .timeout: "connecting timed out"
        case .connect: "cannot connect"
        case .broken: "connections are reset"
        case .errors: "it responds with errors"
        }
    }
}

/// Evidence of an outage in a failure.
package struct OutageEvidence: Hashable, Sendable {
    /// The kind of failure.
    package var cause: OutageCause
    /// The host, or the proxy, to which the connection was to be made, or the host that responded; `nil` if unknown.
    package var peer: Origin?
    /// The status of the response, if that is the evidence.
    package var status: Int?
    /// Identifies the transfer's URL.
    package var resource = 0
    /// Whether a response concerns every transfer of the host, such as that to a request for its `robots.txt`.
    package var concernsHost = false

    /// Creates evidence.
    package init(_ cause: OutageCause, peer: Origin? = nil) {
        self.cause = cause
        self.peer = peer
    }
}

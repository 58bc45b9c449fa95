// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// A failure of the network that a ``ScriptedResponse`` simulates.
public enum ScriptedFailure: Sendable, Hashable, CaseIterable {
    /// The host's name has no address.
    case unknownHost
    /// The host refuses the connection.
    case connectionRefused
    /// The host cannot be routed to.
    case hostUnreachable
    /// The connection cannot be made in time.
    case connectTimeout
    /// The peer resets the connection.
    case connectionReset
    /// The connection ends before the response is complete.
    case connectionClosed
    /// The server's certificate has expired.
    case certificateExpired
    /// The server's certificate is for another host.
    case certificateWrongHost
    /// No trusted authority signed the server's certificate.
    case certificateUnknownAuthority
    /// The response is not valid HTTP.
    case malformedResponse

    var error: TransportError {
        switch self {
        case .unknownHost: TransportError(.unknownName, "the script's host has no address")
        case .connectionRefused: TransportError(.refused, "the script refused the connection")
        case .hostUnreachable: TransportError(.unreachable, "the script's host cannot be reached")
        case .connectTimeout: TransportError(.connectTimeout, "connecting to the script's host timed out")
        case .connectionReset: TransportError(.reset, "the script reset the connection")
        case .connectionClosed: TransportError(.truncated, "the script ended the connection before the response did")
        case .certificateExpired:
            TransportError(.certificateExpired, "the certificate of the script's host has expired")
        case .certificateWrongHost:
            TransportError(.certificateWrongHost, "the certificate of the script's host is for another host")
        case .certificateUnknownAuthority:
            TransportError(.certificateUnknownAuthority, "no trusted authority signed the script's certificate")
        case .malformedResponse: TransportError(.malformed, "the script's response is not valid HTTP")
        }
    }
}

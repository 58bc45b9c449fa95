// SPDX-License-Identifier: Apache-2.0
/// A replacement for the connections of a session: those of the system, or a network that the tests of a program simulate.
///
/// Opaque: the products `MartletSystemTransport` and `TransferTesting` make the values.
public struct TransportOverride: Sendable {
    /// Creates the transport of one engine.
    package let makeTransport: @Sendable () -> any Transport
    /// Whether servers are reached over TLS and proxies that the system chooses, not a session's configuration.
    package let usesSystemSettings: Bool

    /// Creates a replacement.
    ///
    /// - Parameters:
    ///   - usesSystemSettings: See ``usesSystemSettings``.
    ///   - makeTransport: Makes the transport of one engine; a session has up to two.
    package init(usesSystemSettings: Bool = false, _ makeTransport: @escaping @Sendable () -> any Transport) {
        self.usesSystemSettings = usesSystemSettings
        self.makeTransport = makeTransport
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The reason why no connection to a host is made, although its name was resolved.
enum UnusableAddress: Error, Sendable {
    /// The rule of the request denies the address, or a name that always stands for one.
    case denied(String, AddressKind)
    /// The host has no address of the only permitted family.
    case noneOf(AddressFamily)

    /// Judges an address of a host; `nil` if a connection may be made, or without a rule.
    init?(_ address: String, of origin: Origin, by rule: AddressRule?) {
        guard let kind = rule?.refusal(of: address, host: origin.host, port: origin.port) else { return nil }
        self = .denied(address, kind)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// An address to which no connection is made.
struct DeniedAddress: Error, Sendable {
    /// The address, or a name that always stands for one.
    let address: String
    let kind: AddressKind

    init(address: String, kind: AddressKind) {
        self.address = address
        self.kind = kind
    }

    /// Judges an address of a host; `nil` if a connection may be made, or without a rule.
    init?(_ address: String, of origin: Origin, by rule: AddressRule?) {
        guard let kind = rule?.refusal(of: address, host: origin.host, port: origin.port) else { return nil }
        self.init(address: address, kind: kind)
    }
}

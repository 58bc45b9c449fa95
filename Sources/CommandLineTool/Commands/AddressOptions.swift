// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// Options for the addresses to which requests are sent.
protocol AddressOptions {
    /// `--deny-private-addresses`: whether private addresses are refused.
    var denyPrivateAddresses: Bool { get }
    /// `--allow-addresses`: exceptions: addresses, networks and names.
    var allowAddresses: [String] { get }
}

extension AddressOptions {
    /// Returns the list of what is not refused.
    ///
    /// - Throws: ``SyntaxError`` for an entry that would match nothing.
    func allowedAddresses() throws(SyntaxError) -> ProxyExceptions {
        let text = self.allowAddresses.joined(separator: ",")
        if let entry = ProxyExceptions.invalidEntry(of: text) {
            throw SyntaxError(
                "--allow-addresses '\(DisplayText.clean(entry))' is not an address, a network such as 10.1.0.0/16, or a name"
            )
        }
        return ProxyExceptions(text)
    }

    /// Returns the rule for requests.
    ///
    /// - Parameter usual: The addresses that are refused without the option.
    /// - Returns: The rule; `nil` if nothing is refused.
    /// - Throws: ``SyntaxError`` for an entry that would match nothing, and for a list without need.
    func addressRule(usual: AddressRule.Refused = .none) throws(SyntaxError) -> AddressRule? {
        let refused = self.denyPrivateAddresses ? AddressRule.Refused.private : usual
        guard refused != .none else {
            guard self.allowAddresses.isEmpty else {
                throw SyntaxError("--allow-addresses is for --deny-private-addresses, without which none is refused")
            }
            return nil
        }
        return AddressRule(refusing: refused, allowing: try self.allowedAddresses())
    }
}

// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore

/// Options for the addresses to which requests are sent.
struct AddressOptions: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "Refuse hosts at loopback, private and other special addresses (RFC 6890).",
            discussion: """
                The address of each connection is judged, also after redirects; of hosts behind a proxy, which resolves \
                their names itself, only written addresses and localhost. Without it, the URLs of tables, and those \
                that clients of the daemon add over TCP, are refused link-local addresses and clouds' metadata. \
                Refused ones fail with address-denied, exit status 35.
                """
        )
    )
    var denyPrivateAddresses = false

    @Option(
        help: ArgumentHelp(
            "Permitted addresses, networks and names, such as 10.1.0.0/16,nas.local; may be repeated.",
            valueName: "list"
        )
    )
    var allowAddresses: [String] = []

    /// Returns the list of what is not refused.
    ///
    /// - Throws: ``BadValue`` for an entry that would match nothing.
    func allowed() throws(BadValue) -> ProxyExceptions {
        let text = self.allowAddresses.joined(separator: ",")
        if let entry = ProxyExceptions.invalidEntry(of: text) {
            throw BadValue(
                "--allow-addresses '\(DisplayText.clean(entry))' is not an address, a network such as 10.1.0.0/16, or a name"
            )
        }
        return ProxyExceptions(text)
    }

    /// Returns the rule for requests.
    ///
    /// - Parameter usual: The addresses that are refused without the option.
    /// - Returns: The rule; `nil` if nothing is refused.
    /// - Throws: ``BadValue`` for an entry that would match nothing, and for a list without need.
    func rule(usual: AddressRule.Refused = .none) throws(BadValue) -> AddressRule? {
        let refused = self.denyPrivateAddresses ? AddressRule.Refused.private : usual
        guard refused != .none else {
            guard self.allowAddresses.isEmpty else {
                throw BadValue("--allow-addresses is for --deny-private-addresses, without which none is refused")
            }
            return nil
        }
        return AddressRule(refusing: refused, allowing: try self.allowed())
    }
}

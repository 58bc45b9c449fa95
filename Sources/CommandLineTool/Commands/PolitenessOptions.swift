// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

/// Options that protect servers.
struct PolitenessOptions: ParsableArguments {
    @Option(.perDomain) var perDomain: Int?
    @Option(.hostInterval) var hostInterval: Duration = .zero
    @Option(.domainInterval) var domainInterval: Duration = .zero
    @Flag(.robots) var robots = false
    @Option(.contact) var contact: String?
    @Option(.maxRetryAfter) var maxRetryAfter: Duration?
}

extension PolitenessOptions {
    /// Sets the limits and the longest delay.
    func apply(to plan: inout GetPlan) {
        plan.politeness.connectionsPerDomain = self.perDomain
        plan.politeness.hostInterval = Self.nanoseconds(self.hostInterval)
        plan.politeness.domainInterval = Self.nanoseconds(self.domainInterval)
        plan.politeness.obeysRobots = self.robots
        OptionSpec.maxRetryAfter.apply(self.maxRetryAfter, to: &plan.options)
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        Quantity.nanoseconds(min(max(.zero, duration), .seconds(86_400)))
    }

    /// The default User-Agent field with the contact, if there is one.
    ///
    /// - Throws: ``SyntaxError`` if the contact cannot be a comment of the field (RFC 9110 §5.6.5).
    func agent() throws(SyntaxError) -> String {
        let product = "martlet/\(MartletVersion.text)"
        guard let contact else { return product }
        let isText = contact.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x28 && $0 != 0x29 && $0 != 0x5C }
        guard isText, contact.contains("@") || contact.contains("://") else {
            throw SyntaxError(
                "--contact '\(DisplayText.clean(contact))' is not a mail address or a URL in printable ASCII; write it "
                    + "without spaces, parentheses and backslashes"
            )
        }
        return "\(product) (+\(contact))"
    }
}

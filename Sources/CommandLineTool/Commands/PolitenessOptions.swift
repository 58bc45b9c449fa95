// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

/// Options that protect servers.
struct PolitenessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Maximum connections to all hosts of a registered domain, such as example.co.uk. (default: no limit)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0, in: 1...10000) }
    )
    var perDomain: Int?

    @Option(
        help: ArgumentHelp(
            "Minimum seconds between the starts of two requests to a host. (default: 0)",
            valueName: "seconds"
        ),
        transform: { try Seconds.parse($0) }
    )
    var hostInterval: Duration = .zero

    @Option(
        help: ArgumentHelp(
            "Minimum seconds between the starts of two requests to a registered domain. (default: 0)",
            valueName: "seconds"
        ),
        transform: { try Seconds.parse($0) }
    )
    var domainInterval: Duration = .zero

    @Flag(
        help: ArgumentHelp(
            "Obey each origin's robots.txt (RFC 9309).",
            discussion: """
                It is fetched once per run, and transfers of the origin wait for it. The first word of the User-Agent \
                field selects the rules. A Crawl-delay of up to 30 seconds raises --host-interval. Files that it \
                denies fail with the reason robots-denied. If the server refuses it (429, 5xx), they wait as in an \
                outage.
                """
        )
    )
    var robots = false

    @Option(
        help: ArgumentHelp(
            "Mail address or URL for operators of servers, added to the default User-Agent field.",
            valueName: "contact"
        )
    )
    var contact: String?

    @Option(
        help: ArgumentHelp(
            "Fail if a server asks to retry after more seconds than this. (default: shorten the wait to 300)",
            valueName: "seconds"
        ),
        transform: { try Seconds.parse($0) }
    )
    var maxRetryAfter: Duration?
}

extension PolitenessOptions {
    /// Sets the limits and the longest delay.
    func apply(to plan: inout GetPlan) {
        plan.politeness.connectionsPerDomain = self.perDomain
        plan.politeness.hostInterval = Self.nanoseconds(self.hostInterval)
        plan.politeness.domainInterval = Self.nanoseconds(self.domainInterval)
        plan.politeness.obeysRobots = self.robots
        plan.options.maximumRetryAfter = self.maxRetryAfter.map { $0 == .zero ? .seconds(366 * 86_400) : $0 }
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        Quantity.nanoseconds(min(max(.zero, duration), .seconds(86_400)))
    }

    /// The default User-Agent field with the contact, if there is one.
    ///
    /// - Throws: ``BadValue`` if the contact cannot be a comment of the field (RFC 9110 §5.6.5).
    func agent() throws(BadValue) -> String {
        let product = "martlet/\(MartletVersion.text)"
        guard let contact else { return product }
        let isText = contact.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x28 && $0 != 0x29 && $0 != 0x5C }
        guard isText, contact.contains("@") || contact.contains("://") else {
            throw BadValue(
                "--contact '\(DisplayText.clean(contact))' is not a mail address or a URL in printable ASCII; write it "
                    + "without spaces, parentheses and backslashes"
            )
        }
        return "\(product) (+\(contact))"
    }
}

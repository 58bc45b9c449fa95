// SPDX-License-Identifier: Apache-2.0
package import Control
internal import TransferCore
internal import TransferEngine

/// An option of the daemon's queue: its values, its default, and to what it applies.
///
/// The RPC, a saved session and a file of URLs accept it under its name. Its values have aria2's syntax if aria2 has the
/// option. Words and defaults that the command line also has come from there.
///
/// - Source: aria2c(1), for aria2's options.
package struct QueueOption: Sendable {
    /// What an option applies to.
    package enum Scope: Sendable, Hashable {
        /// A transfer; a change of a running one begins its requests anew.
        case transfer
        /// A transfer, also while it runs.
        case running
        /// The addition of a transfer: it has no meaning afterwards.
        case addition
        /// The queue.
        case queue
    }

    /// The syntax of its values.
    package let rule: OptionRule
    /// The default, as methods that return all options show it; `nil` if they show none.
    package let standard: String?
    package let scope: Scope
    /// Whether an empty value is meaningful: it removes a default.
    package let mayBeEmpty: Bool
    /// Whether aria2 does not have it, so that a session saved for aria2 leaves it out.
    let isOwn: Bool

    private init(
        _ rule: OptionRule,
        standard: String? = nil,
        _ scope: Scope = .transfer,
        mayBeEmpty: Bool = false,
        isOwn: Bool = false
    ) {
        self.rule = rule
        self.standard = standard
        self.scope = scope
        self.mayBeEmpty = mayBeEmpty
        self.isOwn = isOwn
    }

    /// The option of a name.
    package init(_ name: OptionName) {
        self =
            switch name {
            // The file and its name.
            case .dir, .out, .loadCookies: Self(.path)
            case .checksum: Self(.digest)
            case .allowOverwrite, .conditionalGet, .dryRun, .httpNoCache: Self(.flag, standard: "false")
            case .autoFileRenaming, .continue: Self(.flag, standard: "true")
            case .ifExists: Self(.words(IfExistsRule.allCases.map(\.rawValue)), isOwn: true)
            case .ifRunning: Self(.words(IfRunningRule.allCases.map(\.rawValue)), isOwn: true)
            case .nameFrom: Self(.words(["first", "last"]), isOwn: true)
            // The request.
            case .header: Self(.field)
            case .conditions: Self(.field, isOwn: true)
            case .referer, .allProxy, .httpProxy, .httpsProxy, .noProxy, .httpUser, .httpPassword, .allProxyUser,
                .allProxyPassword, .httpProxyUser, .httpProxyPassword, .httpsProxyUser, .httpsProxyPassword:
                Self(.line, mayBeEmpty: true)
            case .userAgent: Self(.line, standard: OptionSpec.userAgent.standard, mayBeEmpty: true)
            case .deniedAddresses: Self(.words(AddressRule.Refused.allCases.map(\.rawValue)), isOwn: true)
            case .method: Self(.token, isOwn: true)
            case .body: Self(.base64, isOwn: true)
            case .mayBeRepeated: Self(.flag, isOwn: true)
            // Connections and rates.
            case .split, .maxConnectionPerServer: Self(.number(1...256), standard: "4")
            case .minSplitSize: Self(.size(least: 1), standard: "1048576")
            case .maxDownloadLimit, .maxUploadLimit, .lowestSpeedLimit:
                Self(.size(least: 0), standard: "0", .running)
            // Failures and timeouts.
            case .maxTries: Self(.number(0...1_000_000), standard: "5")
            case .retryWait: Self(.seconds, standard: OptionSpec.retryWait.standard)
            case .timeout: Self(.seconds, standard: OptionSpec.stallTimeout.standard)
            case .connectTimeout: Self(.seconds, standard: "60")
            case .resourceTimeout: Self(.seconds, isOwn: true)
            case .outageTimeout: Self(.seconds, standard: "86400", isOwn: true)
            // The place in the queue.
            case .gid: Self(.gid, .addition)
            case .pause: Self(.flag, .addition)
            case .position: Self(.number(0...Int64(Int32.max)), .addition, isOwn: true)
            case .priority: Self(.number(-1_000_000...1_000_000), .running, isOwn: true)
            case .description, .userInfo: Self(.text, .running, mayBeEmpty: true, isOwn: true)
            // The queue.
            case .maxConcurrentDownloads: Self(.number(1...100_000), standard: "5", .queue)
            case .maxOverallDownloadLimit: Self(.size(least: 0), standard: "0", .queue)
            case .maxDownloadResult: Self(.number(0...1_000_000_000), standard: "1000", .queue)
            case .saveSession: Self(.path, .queue, mayBeEmpty: true)
            case .saveSessionInterval: Self(.number(0...1_000_000_000), standard: "0", .queue)
            case .notify: Self(.notifications, standard: "none", .queue, isOwn: true)
            }
    }

    /// The options of a scope.
    package static func names(_ scope: Scope) -> Set<OptionName> {
        Set(OptionName.allCases.filter { Self($0).scope == scope })
    }
}

internal import Control
internal import TransferCore

/// The default values of options, for methods that return all options.
enum OptionDefaults {
    /// The defaults of options of a transfer.
    static let transfer: [(OptionName, String)] = [
        (.allowOverwrite, "false"), (.autoFileRenaming, "true"), (.conditionalGet, "false"), (.connectTimeout, "60"),
        (.continue, "true"), (.lowestSpeedLimit, "0"), (.maxConnectionPerServer, "4"), (.maxDownloadLimit, "0"),
        (.maxTries, "5"), (.maxUploadLimit, "0"), (.minSplitSize, "1048576"), (.outageTimeout, "86400"),
        (.retryWait, "0"),
        (.split, "4"), (.timeout, "60"),
        (.userAgent, "martlet/\(MartletVersion.text)"),
    ]

    /// The defaults of options of the queue only.
    static let queue: [(OptionName, String)] = [
        (.maxConcurrentDownloads, "5"), (.maxDownloadResult, "1000"), (.maxOverallDownloadLimit, "0"),
    ]

    /// The options that apply to the queue and not to one transfer.
    static let queueNames: Set<OptionName> = [.maxConcurrentDownloads, .maxDownloadResult, .maxOverallDownloadLimit]

    /// Merges a transfer's options over the global ones and the defaults; in aria2's form, header fields are lines.
    static func json(of options: TransferOptions, global: TransferOptions, directory: String) -> JSON {
        var all = TransferOptions(Dictionary(uniqueKeysWithValues: self.transfer.map { ($0.0.rawValue, [$0.1]) }))
        all = all.merging(global).merging(options)
        for name in self.queueNames { all[name] = nil }
        // A client that sends them back would request the same identifier again.
        all[.gid] = nil
        all[.position] = nil
        all[.dir] = directory
        return self.texts(all)
    }

    /// Merges the global options over the defaults.
    static func json(global: TransferOptions, directory: String) -> JSON {
        let defaults = (self.transfer + self.queue).map { ($0.0.rawValue, [$0.1]) }
        var all = TransferOptions(Dictionary(uniqueKeysWithValues: defaults)).merging(global)
        all[.dir] = directory
        return self.texts(all)
    }

    private static func texts(_ options: TransferOptions) -> JSON {
        .object(
            OptionName.allCases.sorted { $0.rawValue < $1.rawValue }
                .compactMap { name in
                    guard let last = options[name] else { return nil }
                    let text = name.hasSeveral ? options[all: name].map { "\($0)\n" }.joined() : last
                    return JSON.Member(name.rawValue, .string(text))
                }
        )
    }
}

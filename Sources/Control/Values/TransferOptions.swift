// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// The options of one transfer, or of the queue, by aria2's names (`man aria2c`), with additions by Martlet.
///
/// Values are texts, as on a command line; `header` and `conditions` may have several. The meaning and the valid values
/// of a name are defined where the option is used; see ``OptionName``.
public struct TransferOptions: Sendable, Hashable {
    /// The values by name.
    public private(set) var values: [String: [String]]

    /// Creates options.
    public init(_ values: [String: [String]] = [:]) { self.values = values }

    /// The value of an option, the last one if it has several; setting `nil` removes it.
    public subscript(name: OptionName) -> String? {
        get { self.values.isEmpty ? nil : self.values[name.rawValue]?.last }
        set { self[all: name] = newValue.map { [$0] } ?? [] }
    }

    /// All values of an option.
    public subscript(all name: OptionName) -> [String] {
        get { self.values.isEmpty ? [] : self.values[name.rawValue] ?? [] }
        set {
            if self.values.isEmpty, newValue.isEmpty { return }
            self.values[name.rawValue] = newValue.isEmpty ? nil : newValue
        }
    }

    /// Removes options.
    public mutating func remove(_ names: [OptionName]) {
        for name in names where !self.values.isEmpty { self.values.removeValue(forKey: name.rawValue) }
        // An empty dictionary may have storage.
        if self.values.isEmpty { self.values = [:] }
    }

    /// The names that have a value, sorted.
    public var names: [OptionName] { self.values.keys.sorted().compactMap { OptionName(rawValue: $0) } }

    /// Whether no option is set.
    public var isEmpty: Bool { self.values.isEmpty }

    /// These options, with those of `other` replacing the same names.
    public func merging(_ other: TransferOptions) -> TransferOptions {
        if self.isEmpty { return other }
        if other.isEmpty { return self }
        return TransferOptions(self.values.merging(other.values) { _, new in new })
    }

    /// Reads an object whose values are strings, numbers, truth values, or arrays of strings.
    ///
    /// Numbers and truth values become texts. Unknown names and values of other types are skipped, as in aria2.
    public init(json: JSON) {
        var values: [String: [String]] = [:]
        for member in json.object ?? [] where OptionName(rawValue: member.name) != nil {
            switch member.value {
            case .string(let text): values[member.name] = [text]
            case .integer(let number): values[member.name] = ["\(number)"]
            case .bool(let flag): values[member.name] = [flag ? "true" : "false"]
            case .array(let elements):
                let texts = elements.compactMap(\.string)
                if !texts.isEmpty { values[member.name] = texts }
            case .number, .literal:
                // A whole number with a fraction or an exponent, such as 5.0.
                if let number = member.value.integer { values[member.name] = ["\(number)"] }
            case .null, .object: break
            }
        }
        self.values = values
    }

    /// The options as an object, sorted by name; `header` and `conditions` are arrays.
    public var json: JSON {
        .object(
            self.values.sorted { $0.key < $1.key }
                .map { name, texts in
                    JSON.Member(
                        name,
                        OptionName(rawValue: name)?.hasSeveral == true
                            ? .array(texts.map { .string($0) }) : .optional(texts.last)
                    )
                }
        )
    }
}

/// The options that Martlet supports, by aria2's names; the last groups are additions by Martlet.
public enum OptionName: String, Sendable, Hashable, CaseIterable {
    // The file and its name.
    case dir, out, checksum
    case allowOverwrite = "allow-overwrite"
    case autoFileRenaming = "auto-file-renaming"
    case `continue`
    case conditionalGet = "conditional-get"
    case dryRun = "dry-run"
    case gid, pause, position
    // The request.
    case header, referer
    case userAgent = "user-agent"
    case allProxy = "all-proxy"
    case allProxyUser = "all-proxy-user"
    case allProxyPassword = "all-proxy-passwd"
    case httpProxy = "http-proxy"
    case httpProxyUser = "http-proxy-user"
    case httpProxyPassword = "http-proxy-passwd"
    case httpsProxy = "https-proxy"
    case httpsProxyUser = "https-proxy-user"
    case httpsProxyPassword = "https-proxy-passwd"
    case httpNoCache = "http-no-cache"
    case noProxy = "no-proxy"
    case httpUser = "http-user"
    case httpPassword = "http-passwd"
    case loadCookies = "load-cookies"
    // Connections and rates.
    case split
    case maxConnectionPerServer = "max-connection-per-server"
    case minSplitSize = "min-split-size"
    case maxDownloadLimit = "max-download-limit"
    case maxUploadLimit = "max-upload-limit"
    case lowestSpeedLimit = "lowest-speed-limit"
    // Failures and timeouts.
    case maxTries = "max-tries"
    case retryWait = "retry-wait"
    case timeout
    case connectTimeout = "connect-timeout"
    // The queue.
    case maxConcurrentDownloads = "max-concurrent-downloads"
    case maxOverallDownloadLimit = "max-overall-download-limit"
    case maxDownloadResult = "max-download-result"
    case saveSession = "save-session"
    case saveSessionInterval = "save-session-interval"
    // Martlet's additions: the timeout of the whole transfer and the longest outage, in seconds; the rules for an
    // existing file (auto, skip, resume, rename, overwrite or fail) and for one that another process is downloading
    // (wait, fail or rename); an integer.
    case resourceTimeout = "resource-timeout"
    case outageTimeout = "outage-timeout"
    case ifExists = "if-exists"
    case ifRunning = "if-running"
    // The addresses to which no request is sent: none, metadata or private.
    case deniedAddresses = "denied-addresses"
    // The URL whose last segment names the file: first, or last after redirects, as in aria2.
    case nameFrom = "name-from"
    case priority
    // The queue's desktop notifications: finished, failed and done, separated by commas, or none.
    case notify
    // A text for display; any JSON text of the caller.
    case description
    case userInfo = "user-info"
    // The method; the content in Base64; header fields that make the request conditional, in the format of `header`.
    case method, body, conditions
    // Whether a request may be sent again although its method is not idempotent: true or false.
    case mayBeRepeated = "may-be-repeated"

    /// Whether it may have several values, so that its JSON value is an array.
    public var hasSeveral: Bool { self == .header || self == .conditions }

    /// Whether its value must not be shown or logged.
    public var isSecret: Bool {
        switch self {
        case .httpPassword, .header, .body, .allProxy, .httpProxy, .httpsProxy: true
        case .allProxyPassword, .httpProxyPassword, .httpsProxyPassword: true
        default: false
        }
    }
}

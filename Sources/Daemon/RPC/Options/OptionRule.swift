// SPDX-License-Identifier: Apache-2.0
package import Control
package import TransferCore

/// The syntax of an option's values.
///
/// - Source: aria2c(1), for aria2's options.
package enum OptionRule: Sendable {
    /// `true` or `false`.
    case flag
    /// A whole number in a range.
    case number(ClosedRange<Int64>)
    /// A number of seconds, with or without a fraction; 0 means none.
    case seconds
    /// A number of bytes, optionally followed by K or M.
    case size(least: Int64)
    /// An algorithm, `=` and a digest, such as `sha-256=HEX`.
    case digest
    /// Sixteen hexadecimal digits.
    case gid
    /// A path, absolute or relative.
    case path
    /// One of the given words.
    case words([String])
    /// Names of notifications, separated by commas.
    case notifications
    /// A header field: name, colon, value.
    case field
    /// A text for a header field, without control characters.
    case line
    /// The name of an HTTP method.
    case token
    /// Bytes in Base64.
    case base64
    /// Any text.
    case text

    package static func of(_ name: OptionName) -> OptionRule {
        switch name {
        case .dir, .out, .loadCookies, .saveSession: .path
        case .checksum: .digest
        case .allowOverwrite, .autoFileRenaming, .continue, .conditionalGet, .pause, .dryRun, .httpNoCache,
            .mayBeRepeated:
            .flag
        case .gid: .gid
        case .position: .number(0...Int64(Int32.max))
        case .header, .conditions: .field
        case .referer, .userAgent, .allProxy, .httpProxy, .httpsProxy, .noProxy, .httpUser, .httpPassword: .line
        case .allProxyUser, .allProxyPassword, .httpProxyUser, .httpProxyPassword: .line
        case .httpsProxyUser, .httpsProxyPassword: .line
        case .split: .number(1...256)
        case .maxConnectionPerServer: .number(1...256)
        case .minSplitSize: .size(least: 1)
        case .maxDownloadLimit, .maxUploadLimit, .lowestSpeedLimit, .maxOverallDownloadLimit: .size(least: 0)
        case .maxTries: .number(0...1_000_000)
        case .retryWait, .timeout, .connectTimeout, .resourceTimeout, .outageTimeout: .seconds
        case .maxConcurrentDownloads: .number(1...100_000)
        case .maxDownloadResult: .number(0...1_000_000_000)
        case .saveSessionInterval: .number(0...1_000_000_000)
        case .nameFrom: .words(["first", "last"])
        case .ifExists: .words(["auto", "update", "skip", "resume", "rename", "overwrite", "fail"])
        case .ifRunning: .words(IfRunningRule.allCases.map(\.rawValue))
        case .deniedAddresses: .words(AddressRule.Refused.allCases.map(\.rawValue))
        case .notify: .notifications
        case .priority: .number(-1_000_000...1_000_000)
        case .method: .token
        case .body: .base64
        case .description, .userInfo: .text
        }
    }

    /// Validates a value and returns its normalized form; sizes are converted to bytes.
    ///
    /// - Throws: ``SyntaxError``, which describes the accepted values.
    package func value(_ text: String) throws(SyntaxError) -> String {
        switch self {
        case .flag:
            guard text == "true" || text == "false" else {
                throw Self.wrong("true or false")
            }
            return text
        case .number(let range):
            // Also 5.0, as some clients write numbers.
            let fraction = text.utf8.drop { $0 != 0x2E }
            let digits = fraction.count > 1 && fraction.dropFirst().allSatisfy { $0 == 0x30 }
            let whole = digits ? String(text.prefix { $0 != "." }) : text
            guard let number = Int64(whole), range.contains(number), !text.hasPrefix("+") else {
                throw SyntaxError.option(
                    "is not a valid value",
                    write: "a whole number from \(range.lowerBound) to \(range.upperBound)"
                )
            }
            return "\(number)"
        case .seconds:
            guard let seconds = Double(text), seconds >= 0, seconds <= 3_155_760_000 else {
                throw Self.wrong("a number of seconds, 0 or more")
            }
            return text
        case .size(let least):
            guard let bytes = ByteCount.parse(text), bytes >= least else {
                throw SyntaxError.option(
                    "is not a valid value",
                    write: "a number of bytes such as 500K or 20M, at least \(least)"
                )
            }
            return "\(bytes)"
        case .digest:
            do throws(SyntaxError) {
                _ = try ExpectedDigest(parsing: text)
            } catch {
                throw Self.wrong("an algorithm and a digest, as in sha-256=HEX")
            }
            return text
        case .gid:
            guard let gid = GID(text) else {
                throw Self.wrong("16 hexadecimal digits, not all of them 0")
            }
            return gid.description
        case .path:
            guard text.utf8.count <= 4096, !text.utf8.contains(0) else {
                throw Self.wrong("a path of at most 4096 bytes")
            }
            return text
        case .words(let words):
            guard words.contains(text) else {
                throw Self.wrong(words.joined(separator: ", "))
            }
            return text
        case .notifications:
            guard let events = Set<TransferNotification>(words: text) else {
                throw SyntaxError.option(
                    "is not a valid value",
                    write: "finished, failed and done, separated by commas, or none"
                )
            }
            return events.words
        case .field:
            guard Self.isLine(text), let colon = text.utf8.firstIndex(of: 0x3A), colon > text.utf8.startIndex else {
                throw Self.wrong("a header field such as \"Name: value\"")
            }
            return text
        case .line:
            guard Self.isLine(text) else {
                throw Self.wrong("a text without control characters")
            }
            return text
        case .token:
            guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x3A })
            else { throw Self.wrong("a method such as GET") }
            return text
        case .base64:
            guard Base64.decode(text.utf8) != nil else {
                throw Self.wrong("bytes in Base64")
            }
            return text
        case .text: return text
        }
    }

    private static func wrong(_ wanted: String) -> SyntaxError {
        SyntaxError.option("is not a valid value", write: wanted)
    }

    private static func isLine(_ text: String) -> Bool {
        text.utf8.count <= 65_536 && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore

/// URLs as people type them: a host without a scheme is tried as https, never as http.
enum BareHost {
    /// Parses a URL of the command line.
    ///
    /// - Parameters:
    ///   - text: The argument.
    ///   - isFile: Whether a local file has this name.
    /// - Returns: The URL.
    /// - Throws: ``SyntaxError`` if it is none, or if a file has this name and a list of URLs may be meant.
    static func url(_ text: String, isFile: (String) -> Bool = Self.exists) throws(SyntaxError) -> HTTPURL {
        let shown = DisplayText.clean(text)
        for scheme in ["http", "https"] {
            for slip in ["\(scheme)//", "\(scheme):/", "\(scheme);//"]
            where text.hasPrefix(slip) && !text.hasPrefix("\(scheme)://") {
                let rest = DisplayText.clean(String(text.dropFirst(slip.count)))
                throw SyntaxError("\(shown): the scheme is written \(scheme)://; write \(scheme)://\(rest)")
            }
        }
        guard Self.isHost(text) else {
            do throws(SyntaxError) {
                return try HTTPURL(text)
            } catch {
                guard !text.contains(":"), isFile(text) else { throw SyntaxError(error.message) }
                throw SyntaxError("\(shown) is a file, not a URL; to read URLs from it, write -i \(shown)")
            }
        }
        if isFile(text) {
            throw SyntaxError(
                "\(shown) is a file; to read URLs from it, write -i \(shown), for the host https://\(shown)"
            )
        }
        do throws(SyntaxError) { return try HTTPURL("https://" + text) } catch { throw SyntaxError(error.message) }
    }

    /// Whether a text begins with a host that has a dot, localhost or an address in brackets, and maybe a port.
    static func isHost(_ text: String) -> Bool {
        let authority = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        var host = authority
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            let port = authority[authority.index(after: colon)...]
            guard !port.isEmpty, port.utf8.allSatisfy(ASCII.isDigit) else { return false }
            host = authority[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { return true }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1 || host.lowercased() == "localhost", !text.hasPrefix(".") else { return false }
        return labels.allSatisfy { label in
            !label.isEmpty
                && label.utf8.allSatisfy {
                    $0 >= 0x80 || $0 == 0x2D || ASCII.isDigit($0)
                        || ASCII.lowercase($0) >= 0x61 && ASCII.lowercase($0) <= 0x7A
                }
        }
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}

// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// The URLs of one file as aria2 takes them: several are mirrors, and those of other protocols are left out.
struct MirrorURLs: Equatable {
    /// The URLs that can be fetched.
    private(set) var urls: [HTTPURL] = []
    /// The reasons for those that cannot.
    private(set) var problems: [String] = []

    /// Parses texts; empty ones are skipped.
    init(_ texts: [String]) {
        for text in texts where !text.isEmpty {
            if let word = Self.protocolWithoutSupport(text) {
                self.problems.append("Unrecognized URI or unsupported protocol: \(DisplayText.clean(text)) (\(word))")
                continue
            }
            do throws(SyntaxError) {
                self.urls.append(try Self.url(text))
            } catch {
                let shown = DisplayText.clean(text)
                self.problems.append("Unrecognized URI or unsupported protocol: \(shown) (\(error.message))")
            }
        }
    }

    private static func url(_ text: String) throws(SyntaxError) -> HTTPURL {
        do throws(SyntaxError) { return try HTTPURL(text) } catch {
            guard let url = try? HTTPURL(Self.encoded(text)) else { throw error }
            return url
        }
    }

    /// The text with spaces and other bytes that URLs do not have percent-encoded, as aria2 encodes them.
    static func encoded(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte <= 0x20 || byte >= 0x7F {
                bytes += Array("%".utf8) + Array((byte < 16 ? "0" : "").utf8)
                bytes += Array(String(byte, radix: 16, uppercase: true).utf8)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Names what aria2 would fetch and this program does not, or `nil`.
    static func protocolWithoutSupport(_ text: String) -> String? {
        let lower = text.lowercased()
        if lower.hasPrefix("magnet:") { return "BitTorrent is not supported; use a BitTorrent client" }
        for scheme in ["ftp://", "sftp://"] where lower.hasPrefix(scheme) {
            return "FTP and SFTP are not supported; use curl, or an http or https URL of the file"
        }
        guard !lower.contains("://") else { return nil }
        if lower.hasSuffix(".torrent") { return "BitTorrent is not supported; use a BitTorrent client" }
        if lower.hasSuffix(".metalink") || lower.hasSuffix(".meta4") {
            return "Metalink files are not supported; give the URLs in them"
        }
        return nil
    }
}

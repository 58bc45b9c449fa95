// SPDX-License-Identifier: Apache-2.0
/// The address on which a receiver listens.
public struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name, an IPv4 address, or an IPv6 address without brackets.
    public var host: String
    /// The port; 0 selects a free one.
    public var port: Int

    /// Creates an address.
    public init(host: String = "127.0.0.1", port: Int = 8080) {
        self.host = host
        self.port = port
    }

    /// Parses `ADDRESS:PORT`, `[ADDRESS]:PORT`, `:PORT` (all addresses), `PORT` (loopback) or `ADDRESS`.
    ///
    /// - Returns: `nil` if the text has none of these forms.
    public init?(parsing text: String) {
        if let port = Self.port(text) {
            self.init(port: port)
            return
        }
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard host.contains(":"), rest.isEmpty || rest.first == ":" else { return nil }
            guard let port = rest.isEmpty ? 8080 : Self.port(rest.dropFirst()) else { return nil }
            self.init(host: String(host), port: port)
            return
        }
        let colons = text.count { $0 == ":" }
        guard colons == 1, let colon = text.firstIndex(of: ":") else {
            guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }) else { return nil }
            self.init(host: text)
            return
        }
        guard let port = Self.port(text[text.index(after: colon)...]) else { return nil }
        let host = text[..<colon]
        self.init(host: host.isEmpty ? "::" : String(host), port: port)
    }

    private static func port(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 5, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
            let port = Int(text), port <= 65_535
        else { return nil }
        return port
    }

    /// Whether the address is reachable only from this machine.
    public var isLoopback: Bool {
        self.host.lowercased() == "localhost" || self.host == "::1" || Self.isLoopback(self.host)
    }

    /// Whether an address literal is a loopback address.
    static func isLoopback(_ address: String) -> Bool {
        if address == "::1" || address.hasPrefix("::ffff:127.") { return true }
        let parts = address.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// `ADDRESS:PORT`, an IPv6 address in brackets.
    public var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}

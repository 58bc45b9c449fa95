// SPDX-License-Identifier: Apache-2.0
/// The text about a response that requires credentials (401, 407): whether they are missing or refused, and which schemes
/// are accepted.
package struct AuthenticationRefusal: Sendable, Equatable {
    /// Whether the request had credentials.
    package var hasCredentials: Bool
    /// The schemes of the challenges, as sent, without repetitions; at most ``mostSchemes``.
    package var schemes: [String]

    /// The maximum number of schemes in a message.
    private static let mostSchemes = 5
    private static let longestScheme = 20
    private static let supported: Set<String> = ["basic", "digest", "bearer"]

    /// Parses a response's challenges.
    ///
    /// - Parameters:
    ///   - fields: The values of `WWW-Authenticate` or `Proxy-Authenticate`.
    ///   - hasCredentials: Whether the request had credentials.
    package init(_ fields: [String], hasCredentials: Bool) {
        self.hasCredentials = hasCredentials
        self.schemes = []
        for challenge in AuthenticationChallenge.parse(fields) {
            let isKnown = self.schemes.contains { $0.lowercased() == challenge.scheme }
            guard !isKnown, self.schemes.count < Self.mostSchemes, challenge.scheme.utf8.count <= Self.longestScheme
            else { continue }
            self.schemes.append(challenge.schemeAsSent)
        }
    }

    /// Whether one of the schemes is supported; true if there are none, because the server does not say what it needs.
    package var isSupported: Bool {
        self.schemes.isEmpty || self.schemes.contains { Self.supported.contains($0.lowercased()) }
    }

    /// The text, to follow the status in a message.
    package var text: String {
        let names = Self.list(self.schemes)
        if !self.isSupported { return "it accepts only \(names), which is not supported" }
        let by = names.isEmpty ? "" : " (\(names))"
        return self.hasCredentials ? "the credentials were refused\(by)" : "credentials are required\(by)"
    }

    private static func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The words for an event of one transfer, as `martlet get --verbose` and the daemon's log print them.
package struct EventText: Sendable, Hashable {
    /// The kind of event in one word, such as `retrying`.
    package var word: String
    /// The text of an event; may be empty, and may contain text from the network.
    package var text: String

    private init(_ word: String, _ text: String) {
        self.word = word
        self.text = text
    }

    /// The word, then the text.
    package var line: String { self.text.isEmpty ? self.word : "\(self.word): \(self.text)" }

    package static func started(from url: String) -> Self { Self("started", "from \(url)") }

    /// The head of a response; the length and the number of bytes of earlier runs.
    package static func response(status: Int, expected: Int64?, resumedFrom: Int64) -> Self {
        var text = "status \(status)"
        text += expected.map { ", \(ByteCount.binary($0))" } ?? ", length unknown"
        if resumedFrom > 0 { text += ", resuming after \(ByteCount.binary(resumedFrom))" }
        return Self("response", text)
    }

    /// A failed attempt that another one follows.
    package static func retrying(_ message: String, attempt: Int, delay: Duration) -> Self {
        Self("retrying", "\(message); attempt \(attempt) in \(DurationFormat.compact(delay))")
    }

    /// A pause, whose bytes are kept.
    package static var paused: Self { Self("paused", "") }

    /// An interruption, after which it waits; the text says for what.
    package static func stopped(_ text: String = "waits for its turn") -> Self { Self("stopped", text) }

    /// A removal.
    package static var removed: Self { Self("removed", "") }

    /// A decision in words.
    package static func note(_ text: String) -> Self { Self("note", text) }

    /// The end of a transfer that failed.
    package static func failed(_ text: String) -> Self { Self("failed", text) }

    /// The end of a transfer with its content, or without if that was already there.
    package static func finished(bytes: Int64, duration: Duration, isSkipped: Bool) -> Self {
        let size = ByteCount.binary(bytes)
        if isSkipped { return Self("skipped", "already there, \(size)") }
        return Self("done", "\(size) in \(DurationFormat.compact(duration))")
    }

    /// Whether a header field may contain credentials, or a URL with credentials in its query.
    ///
    /// - Parameter name: The name as sent.
    /// - Returns: Whether its value must not be shown.
    package static func isSecret(field name: String) -> Bool { Self.secret.contains(name.lowercased()) }

    private static let secret: Set<String> = [
        "authentication-info", "authorization", "content-location", "cookie", "link", "location",
        "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "refresh", "set-cookie",
        "set-cookie2", "share-link", "www-authenticate", "x-amz-security-token", "x-api-key", "x-auth-token",
    ]
}

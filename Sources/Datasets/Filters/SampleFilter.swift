// SPDX-License-Identifier: Apache-2.0
/// Decides which contents are wanted, by size and media type.
///
/// Pure value. The head of a response decides if it has the length and a specific media type; otherwise the received bytes
/// do. If the media type is missing or unspecific (`application/octet-stream`), the first bytes have to match a signature of
/// a wanted type.
package struct SampleFilter: Sendable, Hashable {
    /// The smallest size in bytes, or `nil`.
    package var minimum: Int64?
    /// The largest size in bytes, or `nil`.
    package var maximum: Int64?
    /// The wanted media types; all if it is empty.
    package var types: [MediaTypePattern]

    package init(minimum: Int64? = nil, maximum: Int64? = nil, types: [MediaTypePattern] = []) {
        self.minimum = minimum
        self.maximum = maximum
        self.types = types
    }

    /// Whether all contents are wanted.
    package var isEmpty: Bool { self.minimum == nil && self.maximum == nil && self.types.isEmpty }

    /// Examines the head of a response.
    ///
    /// - Parameters:
    ///   - mediaType: The value of `Content-Type`, or `nil`.
    ///   - length: The length of the content in bytes, or `nil` if it is not known yet.
    /// - Returns: Why the content is not wanted, or `nil` if it is or may be.
    package func refusal(mediaType: String?, length: Int64?) -> FilterRefusal? {
        if let length, let refusal = self.refusal(ofSize: length) { return refusal }
        let type = SampleMediaType.essence(mediaType ?? "")
        return SampleMediaType.isUnspecific(type) ? nil : self.refusal(ofType: type)
    }

    /// Examines the number of bytes received so far.
    package func refusal(received count: Int64) -> FilterRefusal? {
        guard let maximum = self.maximum, count > maximum else { return nil }
        return FilterRefusal(.size, "the content has more than \(maximum) bytes")
    }

    /// Examines a complete content.
    ///
    /// - Parameters:
    ///   - mediaType: The value of `Content-Type`, or `nil`.
    ///   - length: The length of the content in bytes.
    ///   - head: Its first bytes, 512 if it has as many.
    /// - Returns: Why the content is not wanted, or `nil` if it is.
    package func refusal(mediaType: String?, length: Int64, head: some Collection<UInt8>) -> FilterRefusal? {
        if let refusal = self.refusal(mediaType: mediaType, length: length) { return refusal }
        let type = SampleMediaType.essence(mediaType ?? "")
        guard SampleMediaType.isUnspecific(type), !self.types.isEmpty else { return nil }
        // A pattern may name the unspecific type itself.
        let stated = type.isEmpty ? "application/octet-stream" : type
        if self.types.contains(where: { $0.matches(stated) }) { return nil }
        guard let found = ContentSignature.mediaType(of: head) else {
            return FilterRefusal(
                .type,
                "the media type is \(stated), and the first bytes are not of \(self.wanted)"
            )
        }
        return self.refusal(ofType: found)
    }

    private func refusal(ofSize size: Int64) -> FilterRefusal? {
        if let minimum = self.minimum, size < minimum {
            return FilterRefusal(.size, "the content has \(size) bytes, fewer than \(minimum)")
        }
        if let maximum = self.maximum, size > maximum {
            return FilterRefusal(.size, "the content has \(size) bytes, more than \(maximum)")
        }
        return nil
    }

    private func refusal(ofType type: String) -> FilterRefusal? {
        if self.types.isEmpty || self.types.contains(where: { $0.matches(type) }) { return nil }
        return FilterRefusal(.type, "the media type \(type.debugDescription) is not \(self.wanted)")
    }

    private var wanted: String { self.types.map(\.description).joined(separator: " or ") }
}

/// Why a content is not wanted.
///
/// It is the failure of its row, which is not retryable: another attempt gets the same.
package struct FilterRefusal: Sendable, Hashable, CustomStringConvertible {
    /// The filter that applied.
    ///
    /// The raw values are stable: they are the `error_code` in reports.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        case size = "filtered-size"
        /// The media type.
        case type = "filtered-type"
    }

    /// The filter that applied.
    package let code: Code
    /// The description, with both values.
    package let message: String

    /// Creates a refusal.
    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { self.message }
}

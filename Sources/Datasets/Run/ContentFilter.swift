// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// Which contents a dataset accepts.
package struct ContentFilter: Sendable, Equatable {
    /// The minimum size in bytes.
    package var minimum: Int64 = 0
    /// The maximum size in bytes, or `nil`.
    package var maximum: Int64?
    /// The media types, such as `image/png` or `image/*`, in lower case; empty accepts all.
    package var types: [String] = []

    /// Creates a filter that accepts everything.
    package init() {}

    /// Whether it accepts everything.
    package var isEmpty: Bool { self == ContentFilter() }

    /// The reason why a response is not accepted, or `nil` if it is.
    ///
    /// - Parameters:
    ///   - type: The value of `Content-Type`.
    ///   - length: The length of the content in bytes, if it is known.
    package func rejection(type: String?, length: Int64?) -> DatasetResult.Failure? {
        if !self.types.isEmpty {
            let essence = (type ?? "").prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
            guard self.types.contains(where: { Self.matches(essence, $0) }) else {
                return Self.failure("unwanted-type", "the content is of the type '\(essence.prefix(100))'")
            }
        }
        return length.flatMap { self.rejection(length: $0, isComplete: true) }
    }

    /// The reason why a length is not accepted, or `nil` if it is.
    ///
    /// - Parameters:
    ///   - length: The number of bytes.
    ///   - isComplete: Whether no more bytes follow.
    package func rejection(length: Int64, isComplete: Bool) -> DatasetResult.Failure? {
        if let maximum, length > maximum {
            return Self.failure("too-large", "the content has more than \(maximum) bytes")
        }
        if isComplete, length < self.minimum {
            return Self.failure("too-small", "the content has \(length) bytes, fewer than \(self.minimum)")
        }
        return nil
    }

    private static func failure(_ code: String, _ message: String) -> DatasetResult.Failure {
        DatasetResult.Failure(code: code, message: message, isRetryable: false)
    }

    private static func matches(_ type: String, _ pattern: String) -> Bool {
        if pattern == "*/*" { return !type.isEmpty }
        return pattern.hasSuffix("/*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
    }
}

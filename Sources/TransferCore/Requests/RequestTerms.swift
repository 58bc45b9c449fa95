// SPDX-License-Identifier: Apache-2.0
/// The options of a transfer that apply to each of its requests, for downloads and uploads.
package struct RequestTerms: Sendable {
    package var redirects = RedirectRule(maximum: 20, allowsDowngrade: false)
    /// Whether a policy decides about redirects, challenges and the first response.
    package var hasPolicy = false
    /// Whether an authorizer decides about challenges (401); otherwise a policy does.
    package var hasAuthorizer = false
    /// The statuses after which another attempt may succeed.
    package var retryStatuses = Self.temporary
    /// Whether every request may be repeated, also by a method that is not idempotent.
    package var mayBeRepeated = false
    /// Whether a response of any status is the result; false for a file.
    package var acceptsAnyStatus = false
    /// The maximum time without bytes, in nanoseconds; 0 for none.
    package var stallTimeout: Int64 = 60_000_000_000
    /// The maximum time of the transfer without queueing, in nanoseconds; 0 for none.
    package var totalTimeout: Int64 = 0

    private static let temporary: Set<Int> = [408, 429, 500, 502, 503, 504]

    /// Creates the default terms.
    package init() {}

    /// Whether anything decides about challenges (401).
    package var answersChallenges: Bool { self.hasPolicy || self.hasAuthorizer }

    package func mayRepeat(_ method: String) -> Bool { self.mayBeRepeated || RequestMethod.isIdempotent(method) }

    /// The failure of a transfer that has been active for longer than the total timeout.
    ///
    /// - Parameters:
    ///   - active: The time, without queueing, in nanoseconds.
    ///   - consequence: What happens to its data, for the message.
    /// - Returns: The failure, or `nil`.
    package func overdue(after active: Int64, _ consequence: String = "") -> TransferFailure? {
        guard self.totalTimeout > 0, active > self.totalTimeout else { return nil }
        return TransferFailure(
            .timeout,
            "did not finish within \(DurationFormat.compact(.nanoseconds(self.totalTimeout)))\(consequence)",
            setting: .resourceTimeout
        )
    }

    /// The failure of a request without progress.
    ///
    /// - Parameters:
    ///   - event: What did not happen.
    ///   - patience: For how long, in nanoseconds.
    /// - Returns: The failure.
    package static func stalled(_ event: String, for patience: Int64) -> TransferFailure {
        TransferFailure(
            .timeout,
            "\(event) for \(DurationFormat.compact(.nanoseconds(patience)))",
            isRetryable: true
        )
    }
}

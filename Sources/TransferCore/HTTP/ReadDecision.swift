// SPDX-License-Identifier: Apache-2.0
/// The reaction to a part of a response.
public enum ReadDecision: Sendable {
    /// Continue reading.
    case read
    /// Read nothing from the socket until `resumeReading()`; bytes already read may still be delivered.
    case pause
    /// End the exchange; the connection is kept only if the response had just ended.
    case close
}

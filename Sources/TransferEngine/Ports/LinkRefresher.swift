// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// Supplies a fresh URL for a download whose link has expired.
public protocol LinkRefresher: Sendable {
    /// Supplies a URL of the same file.
    ///
    /// May block; called on a `BlockingPool` thread, at most a few times for each transfer.
    ///
    /// - Parameters:
    ///   - url: The URL that was refused.
    ///   - status: The status of the refusal: 401, 403 or 410.
    /// - Returns: The URL, or `nil` if there is none.
    /// - Throws: The failure that ends the transfer, such as that of a command.
    func freshURL(for url: HTTPURL, status: Int) throws(TransferFailure) -> HTTPURL?
}

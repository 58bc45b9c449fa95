// SPDX-License-Identifier: Apache-2.0
/// The result of one row, as its report line has it.
package struct DatasetResult: Sendable, Equatable {
    /// Why a row has no content.
    package struct Failure: Sendable, Equatable {
        /// The kind of failure: a value of `TransferFailure.Code`, or one of this module's.
        package var code: String
        /// The message: the problem, its place, and how to fix it.
        package var message: String
        /// Whether another attempt may succeed.
        package var isRetryable: Bool

        /// Creates a failure.
        package init(code: String, message: String, isRetryable: Bool) {
            self.code = code
            self.message = message
            self.isRetryable = isRetryable
        }
    }

    /// The URL of the last response, or `nil` without one.
    package var finalURL: String?
    /// The status of the last response, or `nil` without one.
    package var status: Int?
    /// The failure, or `nil` if the row is done.
    package var failure: Failure?
    /// The number of attempts; 0 if nothing was requested.
    package var attempts = 0
    /// The length of the content in bytes, or `nil` if the row failed.
    package var bytes: Int64?
    /// The digest of the content, or `nil`.
    package var digest: [UInt8]?
    /// The `ETag` field as sent, or `nil`.
    package var etag: String?
    /// The `Last-Modified` field as sent, or `nil`.
    package var lastModified: String?
    /// The media type of the content (`Content-Type` as sent), or `nil`; it is not reported.
    package var mediaType: String?
    /// The start of the first attempt, in milliseconds since 1970, or `nil`.
    package var started: Int64?
    /// The end, in milliseconds since 1970.
    package var ended: Int64 = 0
    /// The path of the file, or `nil`.
    package var name: String?

    /// Creates an empty result.
    package init() {}

    /// Creates the result of a row without a fetch.
    package init(_ failure: Failure, ended: Int64) {
        self.failure = failure
        self.ended = ended
    }
}

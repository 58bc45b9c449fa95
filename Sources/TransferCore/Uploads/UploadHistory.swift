// SPDX-License-Identifier: Apache-2.0
/// The state of an upload that outlives one run of it.
package struct UploadHistory: Hashable, Sendable {
    /// The identities of its files when it began.
    package var files: [FileIdentity]?
    /// The record of its resource at the server, once there is one.
    package var record: UploadRecord?
    /// The record of a resource that the server no longer has; kept until there is another.
    package var lost: UploadRecord?
    /// Whether the journal has been read.
    package var hasReadJournal = false
    /// Whether bytes of a stream were read, which cannot be read again.
    package var isStreamTaken = false
    /// Whether a request that must not be repeated was interrupted after all its content was sent.
    package var mayBeProcessed = false
    /// Whether the server does not respond to `OPTIONS`.
    package var ignoresOptions = false
    /// Whether the server refuses `Expect` (417).
    package var refusesExpect = false
    /// Whether the policy has decided about the response.
    package var isResponseDecided = false
    /// The maximum number of bytes that the server has acknowledged.
    package var acknowledged: Int64 = 0
    /// Bytes of content sent by earlier runs.
    package var sent: Int64 = 0

    /// Creates the history of an upload that has not run.
    package init() {}
}

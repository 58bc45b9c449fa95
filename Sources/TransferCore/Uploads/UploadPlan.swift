// SPDX-License-Identifier: Apache-2.0
/// The properties of an upload's request that ``UploadMachine``'s decisions depend on.
package struct UploadPlan: Sendable {
    /// The target URL.
    package var url: HTTPURL
    /// The URL at which a resumable protocol creates uploads, if that is not ``url``.
    package var collection: HTTPURL?
    /// The method of an upload in one request.
    package var method = "PUT"
    /// The protocol chosen by the caller; see ``UploadMachine/leastAutomatic``.
    package var way = UploadProtocolMachine.Way.plain
    /// Metadata for a tus server.
    package var metadata: [(String, String)] = []
    /// The digest to send with each part, if the protocol has one and the server supports it.
    package var checksum: DigestAlgorithm?
    /// The name of the content in messages.
    package var name = ""
    /// Whether the content is a stream, which can be read only once.
    package var isStream = false
    package var hasJournal = false
    /// The caller's record of an upload to resume; the journal's takes precedence.
    package var record: UploadRecord?
    /// The terms of each request.
    package var requests = RequestTerms()
    /// Whether requests that must not be repeated are recorded before they are sent (RFC 9110 §9.2.2).
    package var notesUnrepeatable = false
    /// The minimum length at which `Expect: 100-continue` is sent, or `nil` for never.
    package var expectsFrom: Int64?
    /// The number of bytes after which a success's body is not read any further, or `nil` for no limit.
    package var answerLimit: Int64?
    /// The time after which a success's body is not read any further, in nanoseconds, or `nil` for no limit.
    package var answerTime: Int64?

    /// Creates the plan of a PUT in one request.
    package init(_ url: HTTPURL) { self.url = url }
}

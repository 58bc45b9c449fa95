// SPDX-License-Identifier: Apache-2.0
/// The terms of one download: everything that its decisions depend on and that does not change while it runs.
package struct DownloadTerms: Sendable {
    /// The destination of the bytes.
    package enum Destination: Hashable, Sendable {
        case file
        /// A sink that accepts the bytes once and in order.
        case stream
        /// Memory; if it keeps the bytes, repeated ones are compared with them.
        case memory(keepsBytes: Bool)
    }

    /// The file's URLs, at least one; more are mirrors.
    package var sources: [HTTPURL]
    /// The request method.
    package var method = "GET"
    /// Whether the transfer fetches a whole representation, so that parts of it may be requested and compared.
    ///
    /// False for the response to a POST, and for a request with the caller's own `Range`.
    package var asksForWhole = true
    /// Whether requests for the whole carry the caller's conditions, so that 304 is a valid response.
    package var isConditional = false
    /// The digests that the finished file must have.
    package var expected: [ExpectedDigest] = []
    /// Whether the file must have exactly the given name.
    package var nameIsExact = false
    /// Whether a file without a given or proposed name is named by the last URL after redirects.
    package var namesByFinalURL = false
    /// The text that marks a finished file as this transfer's.
    package var mark: String?
    package var destination = Destination.file
    /// The rule for a name that is already taken.
    package var ifExists = IfExistsRule.auto
    /// The rule for a file that another process is downloading; `nil` if it follows from ``ifExists``.
    package var ifRunning: IfRunningRule?
    package var connections = ConnectionPolicy.adaptive(most: 4)
    /// The minimum number of bytes for a connection.
    package var minimumSplit: Int64 = 1 << 20
    /// The terms of each request.
    package var requests = RequestTerms()
    /// Whether every file is synced before it is reported.
    package var durable = false
    package var reportDigest: DigestAlgorithm?
    /// Whether a file that fails its digest is kept under another name.
    package var keepBad = true
    /// Whether the caller supplies fresh URLs for expired links.
    package var hasRefresher = false
    /// The number of event loops.
    package var laneCount = 1

    /// Creates terms with the default options.
    package init(sources: [HTTPURL]) { self.sources = sources }
}

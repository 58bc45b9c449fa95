// SPDX-License-Identifier: Apache-2.0
/// The knowledge that a download keeps from one run to the next.
package struct DownloadHistory: Sendable {
    /// The observed support of ranges.
    package var ranges = RangeSupport()
    /// The knowledge about each source.
    package var sources = SourceTable()
    /// The number of restarts because a response did not continue the held bytes.
    package var restarts = 0
    /// Whether the file must be fetched in one response, because several responses gave a wrong digest.
    package var takesSingleResponse = false
    /// The target of the file, once a response or the user has determined it.
    package var target: FileTarget?
    /// The name with which the next run begins: the last one that was reserved, or the target.
    package var name: FileTarget?
    /// That name without a number.
    package var baseName: String?
    /// The file that replaces memory as the destination, once the policy has decided so.
    package var diversion: Diversion?
    /// Whether the policy has decided about the response.
    package var isResponseDecided = false
    /// Whether a request that must not be repeated was interrupted, and the server may have processed it.
    package var mayBeProcessed = false
    package var stream = StreamPosition()

    /// Creates the history of a transfer that has not run.
    package init() {}

    /// The progress of a stream, whose bytes cannot be taken back.
    package struct StreamPosition: Sendable {
        /// The number of bytes delivered.
        package var count: Int64 = 0
        /// The facts of the response that delivered them.
        package var facts: Boxed<ResourceFacts>?
        /// The digests of the whole that the server declared.
        package var serverDigests: [ExpectedDigest] = []
    }
}

/// The observed support of ranges for one file.
package struct RangeSupport: Sendable {
    /// Whether it has ever sent a 206 that continued at the requested offset.
    package var isProven = false
    /// Whether it has sent an unrequested part.
    package var isUnasked = false
    /// Whether it ignored a range; no more are requested.
    package var isRefused = false
    /// Whether it responds to `If-Range` as if the file had changed although it has not.
    package var omitsIfRange = false
    /// Whether a response lacked the validators of the previous one: ranges begin with an overlap.
    package var wantsOverlap = false
    /// Whether it sends this file in ranges only.
    package var isRequired = false
    /// The number of 206 responses without a usable `Content-Range`.
    package var malformed = 0
}

/// The knowledge about the sources of a download: its URL and its mirrors.
package struct SourceTable: Sendable {
    /// Sources that failed or have another file.
    package var bad: Set<Int> = []
    /// Sources whose responses were shown to be of the same version as the first one's.
    package var proven: Set<Int> = []
    /// Mirrors not shown to have the same version: they continue the file only when no other source can.
    package var fallback: Set<Int> = []
    /// Fresh URLs of sources whose link had expired.
    package var freshLinks: [Int: HTTPURL] = [:]
    /// The number of requests for a fresh URL.
    package var refreshes = 0

    /// The usable source with the fewest requests.
    ///
    /// A mirror not shown to have the same version is chosen only if all other sources are excluded.
    func choose(
        of count: Int,
        avoiding avoided: Int?,
        preferring isPreferred: (Int) -> Bool = { _ in false },
        load: (Int) -> Int
    ) -> Int {
        var good = (0..<count).filter { !self.bad.contains($0) }
        let proven = good.filter { !self.fallback.contains($0) }
        if !proven.isEmpty { good = proven }
        if good.count > 1, let avoided { good.removeAll { $0 == avoided } }
        let preferred = good.filter(isPreferred)
        if !preferred.isEmpty { good = preferred }
        return good.min { load($0) < load($1) } ?? 0
    }
}

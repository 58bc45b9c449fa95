// SPDX-License-Identifier: Apache-2.0
/// Options for committing a finished file under its name.
public struct CommitOptions: Sendable {
    /// Whether to replace a file that has the final name.
    public var overwrite: Bool
    /// The only file that may be replaced; `nil` if any may be.
    ///
    /// Another one fails the commit with `exists`.
    public var replaces: FileIdentity?
    /// The modification time to set, seconds since 1970, or `nil`.
    public var modified: Int64?
    /// The validators to store with the file, or `nil` if there are none.
    public var recorded: RecordedVersion?
    /// The transfer's mark to store with the file.
    public var mark: String?
    /// How durable the file is when the call returns.
    public var durability: Durability
    /// The digests to compare before the file gets its name, computed by the commit unless computed while writing.
    public var expected: [ExpectedDigest]
    /// The algorithm of the digest to return, or `nil`.
    public var report: DigestAlgorithm?
    /// Whether a file that fails its digest is kept as `NAME.martlet-bad` (else deleted).
    public var keepBad: Bool

    /// The durability of a committed file.
    public enum Durability: Sendable {
        /// Not synced, as in other download tools: for files of at most 1 MiB.
        case none
        /// Synced, renamed, directory synced, before the call returns.
        case synced
        /// Synced together with others at the next `flushGroup(_:)`, which also gives it its name.
        case grouped
    }

    /// Creates options.
    public init(
        overwrite: Bool = false,
        replaces: FileIdentity? = nil,
        modified: Int64? = nil,
        recorded: RecordedVersion? = nil,
        mark: String? = nil,
        durability: Durability = .none,
        expected: [ExpectedDigest] = [],
        report: DigestAlgorithm? = nil,
        keepBad: Bool = true
    ) {
        self.overwrite = overwrite
        self.replaces = replaces
        self.modified = modified
        self.recorded = recorded
        self.mark = mark
        self.durability = durability
        self.expected = expected
        self.report = report
        self.keepBad = keepBad
    }
}

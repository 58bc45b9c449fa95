// SPDX-License-Identifier: Apache-2.0
/// A digest algorithm named by a user or a server.
public enum DigestAlgorithm: String, Sendable, CaseIterable {
    /// MD5, for old lists only.
    case md5
    /// SHA-1, for old lists only.
    case sha1
    case sha256
    case sha384
    case sha512

    /// The length of the digest in bytes.
    public var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}

/// A digest that the whole file must have.
public struct ExpectedDigest: Hashable, Sendable {
    /// The algorithm.
    public var algorithm: DigestAlgorithm
    /// The digest's bytes.
    public var bytes: [UInt8]
    /// The source of the digest: `--checksum`, `Repr-Digest`.
    public var source: String

    /// Creates an expectation.
    public init(algorithm: DigestAlgorithm, bytes: [UInt8], source: String) {
        self.algorithm = algorithm
        self.bytes = bytes
        self.source = source
    }
}

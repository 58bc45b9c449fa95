// SPDX-License-Identifier: Apache-2.0
import Crypto
package import TransferCore

/// An incremental digest of one of the supported algorithms.
package struct RunningDigest: Sendable {
    private enum Function: Sendable {
        case md5(Insecure.MD5)
        case sha1(Insecure.SHA1)
        case sha256(SHA256)
        case sha384(SHA384)
        case sha512(SHA512)
    }

    private var function: Function

    /// Creates the digest of an empty input.
    package init(_ algorithm: DigestAlgorithm) {
        switch algorithm {
        case .md5: self.function = .md5(Insecure.MD5())
        case .sha1: self.function = .sha1(Insecure.SHA1())
        case .sha256: self.function = .sha256(SHA256())
        case .sha384: self.function = .sha384(SHA384())
        case .sha512: self.function = .sha512(SHA512())
        }
    }

    package static func hash(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) -> [UInt8] {
        var digest = RunningDigest(algorithm)
        bytes.withUnsafeBytes { digest.update($0) }
        return digest.finalized()
    }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self.function {
        case .md5(var hash):
            hash.update(bufferPointer: bytes)
            self.function = .md5(hash)
        case .sha1(var hash):
            hash.update(bufferPointer: bytes)
            self.function = .sha1(hash)
        case .sha256(var hash):
            hash.update(bufferPointer: bytes)
            self.function = .sha256(hash)
        case .sha384(var hash):
            hash.update(bufferPointer: bytes)
            self.function = .sha384(hash)
        case .sha512(var hash):
            hash.update(bufferPointer: bytes)
            self.function = .sha512(hash)
        }
    }

    /// The digest of the bytes added so far.
    package func finalized() -> [UInt8] {
        switch self.function {
        case .md5(let hash): Array(hash.finalize())
        case .sha1(let hash): Array(hash.finalize())
        case .sha256(let hash): Array(hash.finalize())
        case .sha384(let hash): Array(hash.finalize())
        case .sha512(let hash): Array(hash.finalize())
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferTesting

/// The extended attributes of the filesystem with the tests' directories.
enum ExtendedAttributes {
    /// Whether files can have them; otherwise a finished file cannot be recognized as one's own.
    static let areSupported: Bool = {
        guard let directory = try? TemporaryDirectory() else { return false }
        let descriptor = open(directory.path("probe"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return KernelCalls.setAttribute(descriptor, "user.martlet.probe", [1]) == 0
    }()
}

// SPDX-License-Identifier: Apache-2.0
import Files
import Synchronization
package import TransferCore

/// The system's public suffix list, or the built-in one if none is installed.
package final class InstalledSuffixes: Sendable {
    /// The list at the path that distributions share.
    package static let system = InstalledSuffixes(path: "/usr/share/publicsuffix/public_suffix_list.dat")

    package let list: PublicSuffixes
    /// The path of the installed list.
    package let path: String
    private let isMissing: Bool
    private let hasWarned = Atomic(false)

    /// Reads the list, which takes milliseconds.
    package init(path: String) {
        let bytes = try? AtomicFile.read(path, atMost: 4 << 20)
        self.path = path
        self.isMissing = bytes == nil
        self.list = bytes.map { PublicSuffixes(bytes: $0) } ?? .builtIn
    }

    /// The warning that no list is installed; `nil` if one is, and after the first call.
    package func takeWarning() -> String? {
        guard self.isMissing, !self.hasWarned.exchange(true, ordering: .relaxed) else { return nil }
        return """
            no public suffix list is installed, so that only the best known suffixes are protected from cookies for \
            all of their domains; install the package publicsuffix
            """
    }
}

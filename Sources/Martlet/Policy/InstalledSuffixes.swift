// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Logging
internal import Synchronization
internal import TransferCore

/// The system's public suffix list, or the built-in one if none is installed.
final class InstalledSuffixes: Sendable {
    /// The list at the path that distributions share.
    static let system = InstalledSuffixes(path: "/usr/share/publicsuffix/public_suffix_list.dat")

    /// The list.
    let list: PublicSuffixes
    private let path: String
    private let isMissing: Bool
    private let hasWarned = Atomic(false)

    /// Reads the list, which takes milliseconds.
    init(path: String) {
        let bytes = try? AtomicFile.read(path, atMost: 4 << 20)
        self.path = path
        self.isMissing = bytes == nil
        self.list = bytes.map { PublicSuffixes(bytes: $0) } ?? .builtIn
    }

    /// Logs a warning once if no list is installed.
    func warnIfMissing(_ logger: Logger?) {
        guard self.isMissing, let logger, !self.hasWarned.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            """
            no public suffix list is installed, so that only the best known suffixes are protected from cookies for \
            all of their domains; install the package publicsuffix
            """,
            metadata: ["path": "\(self.path)"]
        )
    }
}

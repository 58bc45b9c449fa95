// SPDX-License-Identifier: Apache-2.0
internal import TransferEngine

/// The destination of a download.
public struct Destination: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case temporary
        case file(String)
        case directory(String)
    }

    let kind: Kind
    let existing: Destination.ExistingFileRule

    /// A temporary file; see ``DownloadedFile``.
    public static let temporary = Destination(kind: .temporary, existing: .fail)

    /// A file with this path.
    ///
    /// Received bytes are written to `NAME.part` next to it; the file appears under its name when it is complete.
    ///
    /// - Parameters:
    ///   - path: The file's path, absolute or relative to the working directory. A missing directory is created.
    ///   - existing: The rule if the name is taken.
    /// - Returns: The destination.
    public static func file(_ path: String, ifExists existing: Destination.ExistingFileRule = .fail) -> Destination {
        Destination(kind: .file(path), existing: existing)
    }

    /// A file in this directory, named by the response or the URL as a browser's download is (RFC 6266).
    ///
    /// - Parameters:
    ///   - path: The directory's path; it is created if it is missing.
    ///   - existing: The rule if the name is taken.
    /// - Returns: The destination.
    public static func directory(_ path: String, ifExists existing: Destination.ExistingFileRule = .number)
        -> Destination
    {
        Destination(kind: .directory(path), existing: existing)
    }
}

extension Destination {
    /// The rule for a download whose name is taken by an existing file.
    public enum ExistingFileRule: String, Sendable, Hashable, CaseIterable {
        /// Fail, leaving the file unchanged.
        case fail
        /// Replace the file once the new one is complete.
        case overwrite
        /// Use the next free number: `name.1.txt`.
        case number
        /// Keep the file and succeed with it if its length and validators equal the server's; otherwise use a number.
        case keepIfSame

        var engineRule: DownloadOptions.IfExists {
            switch self {
            case .fail: .fail
            case .overwrite: .overwrite
            case .number: .rename
            case .keepIfSame: .auto
            }
        }

        /// Whether a different name must not be used.
        var isExact: Bool { self == .fail || self == .overwrite }
    }
}

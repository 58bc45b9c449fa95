internal import TransferEngine

/// Where a download goes.
public struct Destination: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case temporary
        case file(String)
        case directory(String)
    }

    let kind: Kind
    let existing: ExistingFileRule

    /// A temporary place; see ``DownloadedFile``.
    public static let temporary = Destination(kind: .temporary, existing: .fail)

    /// Just this file.
    ///
    /// The bytes gather beside it in `NAME.part`, and it appears under its name when it is whole.
    ///
    /// - Parameters:
    ///   - path: The file's path, absolute or relative to the working directory. Its directory is made where it is missing.
    ///   - existing: What to do where the name is taken.
    /// - Returns: The destination.
    public static func file(_ path: String, ifExists existing: ExistingFileRule = .fail) -> Destination {
        Destination(kind: .file(path), existing: existing)
    }

    /// A file in this directory, named by the response or the URL as a download of a browser is (RFC 6266).
    ///
    /// - Parameters:
    ///   - path: The directory's path; it is made where it is missing.
    ///   - existing: What to do where the name is taken.
    /// - Returns: The destination.
    public static func directory(_ path: String, ifExists existing: ExistingFileRule = .number) -> Destination {
        Destination(kind: .directory(path), existing: existing)
    }
}

/// What to do where a download's name is taken by a file already.
public enum ExistingFileRule: String, Sendable, Hashable, CaseIterable {
    /// Fail, with the file untouched.
    case fail
    /// Replace it once the new one is whole.
    case overwrite
    /// Take the next free number: `name.1.txt`.
    case number
    /// Leave it, and succeed with it, where it is what the server has as far as its length and validators tell; else
    /// take a number.
    case keepIfSame

    var engineRule: DownloadOptions.IfExists {
        switch self {
        case .fail: .fail
        case .overwrite: .overwrite
        case .number: .rename
        case .keepIfSame: .auto
        }
    }

    /// Whether no other name may be taken instead.
    var isExact: Bool { self == .fail || self == .overwrite }
}

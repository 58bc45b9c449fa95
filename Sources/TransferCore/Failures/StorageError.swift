// SPDX-License-Identifier: Apache-2.0
/// An error of the storage.
public struct StorageError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The device or quota is full.
        case noSpace
        /// The name exists and may not be overwritten.
        case exists
        /// The file could not be created.
        case cannotCreate
        /// An existing file could not be opened.
        case cannotOpen
        /// Another process, or another engine of this one, is writing the file.
        case inUse
        /// The directory could not be created or opened.
        case cannotCreateDirectory
        /// Reading or writing failed.
        case inputOutput
        /// The journal is damaged, or no longer ours.
        case badJournal
        /// A digest differs.
        case digestMismatch
        /// The process, or the system, has too many open files (EMFILE, ENFILE), or no memory for
        /// another one (ENOMEM); fewer concurrent transfers need fewer.
        case tooManyFiles
    }

    /// The kind of failure.
    public var code: Code
    /// The failure, the path and how to fix it.
    public var message: String
    /// The system's error number, or 0.
    public var errno: Int32
    /// Whether the cause is that the file system is full (or a quota used up) or read-only, which a user can change.
    package var concernsFileSystem: Bool

    /// Creates an error.
    public init(_ code: Code, _ message: String, errno: Int32 = 0) {
        self.code = code
        self.message = message
        self.errno = errno
        self.concernsFileSystem = code == .noSpace
    }

    /// The message.
    public var description: String { self.message }
}

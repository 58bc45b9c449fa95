// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform

/// An open file or directory below the served directory.
enum TreeEntry: Sendable {
    /// A regular file.
    case file(OpenFile, FileFacts)
    case directory(OpenFile)
}

/// The reason why a path is not served.
enum TreeError: Error, Hashable, Sendable {
    /// It does not exist or is not served: a device, a FIFO, a socket, a hidden name, a symlink out of the tree.
    case notFound
    /// Permission denied.
    case forbidden
    /// Too many files are open.
    case busy
    /// An I/O error.
    case failed

    /// Maps an `errno` value of open(2).
    init(number: Int32) {
        switch number {
        case EACCES, EPERM: self = .forbidden
        case EMFILE, ENFILE, ENOMEM: self = .busy
        case EIO, ESTALE: self = .failed
        default: self = .notFound
        }
    }
}

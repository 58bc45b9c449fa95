internal import FileStorage
internal import Glibc

/// Something that was found below the served directory, open.
enum TreeEntry: Sendable {
    /// A plain file.
    case file(OpenFile, FileFacts)
    /// A directory.
    case directory(OpenFile)
}

/// Why nothing is served under a path.
enum TreeError: Error, Hashable, Sendable {
    /// There is nothing, or nothing that is served: a device, a FIFO, a socket, a hidden name, a way out of the tree.
    case notFound
    /// The system does not let us read it.
    case forbidden
    /// Too many files are open.
    case busy
    /// The device failed.
    case failed

    /// What an error number of open(2) means.
    init(number: Int32) {
        switch number {
        case EACCES, EPERM: self = .forbidden
        case EMFILE, ENFILE, ENOMEM: self = .busy
        case EIO, ESTALE: self = .failed
        default: self = .notFound
        }
    }
}

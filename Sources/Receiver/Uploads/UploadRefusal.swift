// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Platform
internal import TransferCore

/// The reason for refusing to create or resume an upload, as an HTTP status and a message.
struct UploadRefusal: Error, Sendable {
    /// The HTTP status code.
    var status: Int
    /// A message for a person.
    var message: String
    /// Additional header fields of the response.
    var fields = HeaderFields()

    init(_ status: Int, _ message: String, _ fields: HeaderFields = [:]) {
        self.status = status
        self.message = message
        self.fields = fields
    }

    /// The response to the client.
    var response: Response { .message(self.status, self.message, self.fields) }

    /// Maps an `errno` value to a status; `doing` names the failed operation.
    init(number: Int32, _ doing: String) {
        switch number {
        case ENOSPC, EDQUOT: self.init(507, "there is no space left to store this")
        case EFBIG: self.init(413, "this is larger than a file may be here")
        case EEXIST, EISDIR, ENOTEMPTY: self = .exists
        case EACCES, EPERM, EROFS: self.init(403, "files cannot be written here")
        case ENOENT, ENOTDIR, ELOOP, EXDEV: self.init(409, "there is no such directory to put this into")
        case ENAMETOOLONG: self.init(400, "the name is too long")
        case EMFILE, ENFILE, ENOMEM: self.init(503, "too many files are open; try again", ["Retry-After": "5"])
        default: self.init(500, "\(doing) failed (error \(number))")
        }
    }

    /// The name is taken.
    static let exists = UploadRefusal(409, "a file of this name exists, and is not replaced")
    /// The upload exceeds the maximum size.
    static func tooLarge(_ limit: Int64) -> UploadRefusal {
        UploadRefusal(413, "an upload may have at most \(limit) bytes here")
    }
    /// The quota of all uploads is exhausted.
    static let quota = UploadRefusal(507, "the space for uploads is used up")
    /// The upload would leave too little free space on the filesystem.
    static let noSpace = UploadRefusal(507, "there is not enough free space to store this")
    /// The upload does not exist.
    static let unknown = UploadRefusal(404, "there is no such upload; it may have expired")
}

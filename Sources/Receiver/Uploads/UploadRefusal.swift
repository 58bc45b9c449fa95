internal import Glibc
internal import TransferCore

/// Why an upload is not taken, or not gone on with.
struct UploadRefusal: Error, Sendable {
    /// The status that tells the client.
    var status: Int
    /// What is wrong, for a person.
    var message: String
    /// Further fields of the answer.
    var fields = HTTPFields()

    init(_ status: Int, _ message: String, _ fields: HTTPFields = [:]) {
        self.status = status
        self.message = message
        self.fields = fields
    }

    /// The answer, which ends the connection where content may still be on its way.
    var answer: Answer { .message(self.status, self.message, self.fields) }

    /// Translates an error number of the system.
    init(number: Int32, _ doing: String) {
        switch number {
        case ENOSPC, EDQUOT: self.init(507, "there is no space left to store this")
        case EFBIG: self.init(413, "this is larger than a file may be here")
        case EEXIST, EISDIR, ENOTEMPTY: self = .exists
        case EACCES, EPERM, EROFS: self.init(403, "files cannot be written here")
        case ENOENT, ENOTDIR, ELOOP, EXDEV: self.init(409, "there is no such directory to put this into")
        case ENAMETOOLONG: self.init(400, "the name is too long")
        case EMFILE, ENFILE: self.init(503, "too many files are open; try again", ["Retry-After": "5"])
        default: self.init(500, "\(doing) failed (error \(number))")
        }
    }

    /// The name is taken.
    static let exists = UploadRefusal(409, "a file of this name exists, and is not replaced")
    /// The upload is larger than one may be.
    static func tooLarge(_ limit: Int64) -> UploadRefusal {
        UploadRefusal(413, "an upload may have at most \(limit) bytes here")
    }
    /// The space that uploads may take is used up.
    static let quota = UploadRefusal(507, "the space for uploads is used up")
    /// The filesystem would be too full.
    static let noSpace = UploadRefusal(507, "there is not enough free space to store this")
    /// There is no such upload.
    static let unknown = UploadRefusal(404, "there is no such upload; it may have expired")
}

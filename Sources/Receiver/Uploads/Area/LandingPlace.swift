// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The destination of an upload.
struct LandingPlace: Sendable, Hashable {
    /// The names of the directory, relative to the served one; missing directories are created.
    var directory: [String]
    /// The file's name.
    var name: String
    /// Whether a numbered name is used if this one is taken.
    var mayRename: Bool

    /// Creates the place that a path names exactly.
    ///
    /// - Throws: ``UploadRefusal`` with 400 if a name is not valid by the rules for downloads (``FileName``), 409 if
    ///   the path names a directory.
    init(exactly path: TreePath) throws(UploadRefusal) {
        guard let last = path.names.last else { throw UploadRefusal(409, "this is a directory; name a file in it") }
        guard !path.endsWithSlash else { throw UploadRefusal(409, "a file's name does not end in a slash") }
        self.directory = try Self.checked(path.names.dropLast())
        self.name = try Self.checked(last)
        self.mayRename = false
    }

    /// Creates a place in a directory, with a name proposed by the client.
    ///
    /// - Parameters:
    ///   - directory: The directory's path.
    ///   - proposed: The name that the client proposes, or `nil`.
    ///   - type: The media type, for the extension of a generated name.
    ///   - now: The current time in seconds since 1970, for a generated name.
    /// - Throws: ``UploadRefusal`` with 400 if a name in the directory's path is not valid.
    init(in directory: TreePath, proposed: String?, type: String?, now: Int64) throws(UploadRefusal) {
        self.directory = try Self.checked(directory.names[...])
        self.mayRename = true
        if let name = proposed.flatMap(Self.safe), !ServedTree.isOwn(name) {
            self.name = name
        } else {
            let ending = type.flatMap(MediaType.fileExtension).map { ".\($0)" } ?? ""
            self.name = "upload-\(Timestamp.compact(now))\(ending)"
        }
    }

    /// The proposed name if it is acceptable, in NFC if it fits; otherwise a similar one.
    private static func safe(_ proposed: String) -> String? {
        guard let clean = FileName.sanitize(proposed) else { return nil }
        return clean != proposed && FileName.isAcceptable(proposed) ? proposed : clean
    }

    init(directory: [String], name: String, mayRename: Bool) {
        self.directory = directory
        self.name = name
        self.mayRename = mayRename
    }

    private static func checked(_ names: ArraySlice<String>) throws(UploadRefusal) -> [String] {
        var checked: [String] = []
        for name in names { checked.append(try self.checked(name)) }
        return checked
    }

    /// Returns the name if a file may have it.
    ///
    /// The client's normal form is kept: existing files may have another one, and a GET must find the file by the same
    /// path.
    private static func checked(_ name: String) throws(UploadRefusal) -> String {
        guard FileName.isAcceptable(name), !ServedTree.isOwn(name) else {
            throw UploadRefusal(
                400,
                "this name is not accepted: no leading dot, no control characters, no dot or blank at the end, at most "
                    + "255 bytes"
            )
        }
        return name
    }

    /// The path of a file with some name in the directory.
    func path(_ name: String) -> TreePath { TreePath(names: self.directory + [name]) }
}

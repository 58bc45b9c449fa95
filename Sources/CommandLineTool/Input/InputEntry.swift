import TransferCore

/// One download of an input file: its URLs and the options of its own.
struct InputEntry: Equatable {
    /// The line of the URLs, from 1.
    var line: Int
    /// The file's URL and its mirrors.
    var urls: [HTTPURL] = []
    /// The file's name; it may begin with directories below the entry's own.
    var name: String?
    /// The directory.
    var directory: String?
    /// The digests that the file must have.
    var expected: [ExpectedDigest] = []
    /// Fields of this request alone.
    var fields: [HeaderPair] = []

    /// A field's name and value.
    struct HeaderPair: Equatable {
        var name: String
        var value: String
    }
}

/// A line of an input file that cannot be used.
struct InputFault: Equatable {
    /// The line, from 1.
    var line: Int
    /// What is wrong and how to mend it.
    var message: String
    /// What the line holds of a URL, without user information and query; empty where there is none.
    var url: String = ""
}

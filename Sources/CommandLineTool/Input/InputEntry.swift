// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore

/// One download of an input file: its URLs and its options.
struct InputEntry: Equatable {
    /// The line number of the URLs, from 1.
    var line: Int
    /// The URL of the file and its mirrors.
    var urls: [HTTPURL] = []
    /// The file's name; it may start with directories below ``directory``.
    var name: String?
    /// The destination directory.
    var directory: String?
    var expected: [ExpectedDigest] = []
    /// The header fields for this entry only.
    var fields: [HeaderLine] = []
    /// The other options, by aria2's names; validated.
    var options = TransferOptions()
}

/// A line of an input file that cannot be used.
struct InputFault: Equatable {
    /// The line number, from 1.
    var line: Int
    /// The problem and how to fix it.
    var message: String
    /// The entry's URL without user information and query; empty if there is none.
    var url: String = ""
}

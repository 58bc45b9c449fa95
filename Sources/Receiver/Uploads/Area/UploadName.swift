// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The file names of one upload in the area.
struct UploadName: Sendable, Hashable {
    /// A capability of 128 random bits as hexadecimal digits: a client that knows it may resume the upload.
    let id: String

    /// Creates a random name.
    init() {
        var random = SystemRandomNumberGenerator()
        self.id = Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    /// Parses an id received from a client; `nil` if it is not 32 lower-case hexadecimal digits.
    init?(_ id: String) {
        guard id.utf8.count == 32, id.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x61 && $0 <= 0x66) })
        else {
            return nil
        }
        self.id = id
    }

    /// The partial file.
    var part: String { self.id + ".part" }
    var record: String { self.id + ".json" }
    /// The file with the offset at which unchecked content starts: content that has not passed its digest check.
    var unchecked: String { self.id + ".unchecked" }
    /// All files, in the order in which they are deleted.
    var files: [String] { [self.record, self.part, self.unchecked] }
    /// The path of the upload's resource.
    var path: String { "/\(ServedTree.ownDirectory)/\(self.id)" }
}

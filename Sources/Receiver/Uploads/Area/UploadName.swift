internal import TransferCore

/// The names of one upload's files in the area.
struct UploadName: Sendable, Hashable {
    /// 128 random bits in hexadecimal digits: who knows it may go on with the upload.
    let id: String

    /// A new one.
    init() {
        var random = SystemRandomNumberGenerator()
        self.id = Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    /// One that came from outside; `nil` where it cannot be one of ours.
    init?(_ id: String) {
        guard id.utf8.count == 32, id.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x61 && $0 <= 0x66) })
        else {
            return nil
        }
        self.id = id
    }

    /// The content.
    var part: String { self.id + ".part" }
    /// What it is to become.
    var record: String { self.id + ".json" }
    /// The offset from which on content has not been checked against the digest that came with it.
    var unchecked: String { self.id + ".unchecked" }
    /// The path of the upload's own resource.
    var path: String { "/\(ServedTree.ownDirectory)/\(self.id)" }
}

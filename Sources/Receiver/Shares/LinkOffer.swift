// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The content of a request that makes a link: `{"path": "/a/b", "expires": 3600, "count": 3, "password": "…"}`.
struct LinkOffer: Sendable {
    /// The file's path.
    var path: TreePath
    /// The lifetime, or `nil` for that of the receiver.
    var lifetime: Duration?
    /// The maximum number of downloads, or `nil` for that of the receiver.
    var downloads: Int?

    /// The password, or `nil` for none.
    var password: String?

    /// The longest lifetime in seconds, a hundred years.
    private static let longest: Int64 = 100 * 366 * 86400

    /// Parses the content.
    ///
    /// - Throws: ``UploadRefusal`` with 400 and the member that is wrong.
    init(parsing content: [UInt8]) throws(UploadRefusal) {
        guard let json = try? JSON(parsing: content), json.object != nil, let text = json["path"]?.string,
            text.hasPrefix("/"), let path = try? TreePath(parsing: text[...])
        else {
            throw UploadRefusal(400, "send an object with 'path', the percent-encoded path of a file: /a/b")
        }
        self.path = path
        self.lifetime = try Self.number("expires", of: json, in: 1...Self.longest).map { .seconds($0) }
        self.downloads = try Self.number("count", of: json, in: 1...1_000_000_000).map { Int($0) }
        guard let password = json["password"], !password.isNull else { return }
        guard let text = password.string, (1...1024).contains(text.utf8.count) else {
            throw UploadRefusal(400, "'password' is a text of 1 to 1024 bytes, or missing")
        }
        self.password = text
    }

    private static func number(
        _ name: String,
        of json: JSON,
        in range: ClosedRange<Int64>
    ) throws(UploadRefusal) -> Int64? {
        guard let value = json[name], !value.isNull else { return nil }
        guard let number = value.integer, range.contains(number) else {
            throw UploadRefusal(400, "'\(name)' is a whole number from 1 to \(range.upperBound), or missing")
        }
        return number
    }
}

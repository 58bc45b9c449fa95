// SPDX-License-Identifier: Apache-2.0
/// The prefix of all paths, if a proxy serves the receiver below a path: empty, or `/files`.
///
/// Handlers see paths without it. The server adds it to `Location` and `Share-Link`; text of pages and JSON gets its
/// URLs from ``url(_:)``.
package struct BasePath: Sendable, Hashable {
    /// The prefix: empty, or with a slash before and none at its end.
    package let prefix: String

    /// No prefix.
    static let none = BasePath(valid: "")

    private init(valid prefix: String) { self.prefix = prefix }

    /// Parses `/files`, `/files/` or `files`; `/` and an empty text mean no prefix.
    ///
    /// - Returns: `nil` if a name is `.` or `..` or has characters other than letters, digits and `-._~`: they have several
    ///   spellings, and proxies differ in which one they send.
    package init?(parsing text: String) {
        let names = text.split(separator: "/")
        for name in names {
            guard name != ".", name != "..", TreePath.encode(String(name)) == name else { return nil }
        }
        self.prefix = names.map { "/\($0)" }.joined()
    }

    /// The path under which a browser requests a path of the receiver.
    ///
    /// - Parameter path: The percent-encoded path; starts with a slash.
    /// - Returns: The path with the prefix.
    package func url(_ path: String) -> String { self.prefix + path }

    /// Removes the prefix.
    ///
    /// - Returns: The rest, which is empty or starts with a slash; `nil` if the path is not below the prefix.
    func relative(_ path: Substring) -> Substring? {
        guard !self.prefix.isEmpty else { return path }
        guard path.utf8.starts(with: self.prefix.utf8) else { return nil }
        let rest = path[path.utf8.index(path.startIndex, offsetBy: self.prefix.utf8.count)...]
        return rest.isEmpty || rest.utf8.first == 0x2F ? rest : nil
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The path of a share link: `/.martlet-share/TOKEN/NAME`; of one with a password `/.martlet-share/TOKEN/`.
enum ShareLink {
    /// The first name of every link's path.
    static let directory = ".martlet-share"
    /// The header field with the link of an upload.
    static let field = "Share-Link"

    /// The path for a token and a file name.
    static func path(token: String, name: String) -> String { "/\(self.directory)/\(token)/\(TreePath.encode(name))" }

    /// The path for a token of a link with a password, which hides the file's name.
    static func path(token: String) -> String { "/\(self.directory)/\(token)/" }

    /// The path of the image with a link's QR code.
    ///
    /// - Parameter path: The path of the link.
    /// - Returns: The path of the image.
    static func qr(ofLink path: String) -> String {
        "/" + path.split(separator: "/").prefix(2).joined(separator: "/") + "?qr"
    }

    /// Removes the token from a path for the log: the token grants access to the file.
    ///
    /// Mistyped links are recognized, too, by a part that looks like the directory's name or like a token.
    static func masked(_ path: String) -> String {
        let masked = self.maskedLink(path)
        // The names of an intended link.
        guard masked == path else { return masked }
        let names = path.split(separator: "/")
            .map { name in
                (try? TreePath(parsing: name))?.names.first ?? String(name)
            }
        if let index = names.firstIndex(where: { self.isSimilar($0) }) {
            return "/"
                + (names[..<index].map { self.hidesToken($0) ? "-" : TreePath.encode($0) } + ["-"])
                .joined(separator: "/")
        }
        guard names.contains(where: self.hidesToken) else { return path }
        let rest = path.split(separator: "/", omittingEmptySubsequences: false)
        return
            rest.map { name in
                let decoded = (try? TreePath(parsing: name))?.names.first ?? String(name)
                return self.hidesToken(decoded) ? "-" : String(name)
            }
            .joined(separator: "/")
    }

    /// Whether a name resembles ``directory``.
    private static func isSimilar(_ name: String) -> Bool {
        let letters = name.lowercased().filter { $0.isLetter }
        return letters.contains("martletshare") || letters.contains("martletshar") || letters.contains("artletshare")
    }

    /// Whether a name has a run of about as many hexadecimal digits as a token.
    private static func hidesToken(_ name: String) -> Bool {
        var run = 0
        for byte in name.utf8 {
            run = PercentEncoding.value(byte) == nil ? 0 : run + 1
            if run >= 24 { return true }
        }
        return false
    }

    private static func maskedLink(_ path: String) -> String {
        // Parsed as the router does it, so that no other spelling of the path keeps its token.
        guard path.utf8.contains(0x2E) || path.utf8.contains(0x25) else { return path }
        guard let read = try? TreePath(parsing: path[...]) else {
            // A link with a malformed part after its token.
            let names = path.split(separator: "/").map { try? TreePath(parsing: $0).names.first }
            return names.contains(self.directory) ? "/\(self.directory)/-" : path
        }
        guard read.names.first == self.directory, read.names.count > 1 else { return path }
        return "/\(self.directory)/-" + read.names.dropFirst(2).map { "/" + TreePath.encode($0) }.joined()
    }
}

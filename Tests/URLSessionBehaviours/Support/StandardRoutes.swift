// SPDX-License-Identifier: Apache-2.0
import TransferTesting

/// The script of most cases.
enum StandardRoutes {
    /// The text of `/hello`.
    static let hello = "hello, session"
    /// The content of `/file`, without its length.
    static let pattern = TestPattern(seed: 7)
    /// The length of `/file`.
    static let fileLength: Int64 = 300_000
    /// The text of `/gzip`.
    static let zipped = "a text that was compressed"

    /// Replies to the paths of most cases.
    ///
    /// Paths: `/hello`, `/file`, `/gzip`; `/status/CODE`, with the header field Location from the query's `to`;
    /// `/redirect/COUNT`; `/echo`, which returns the body; `/cookie`, which sets one.
    static func reply(to request: RecordedRequest) -> Reply {
        let parts = request.path.split(separator: "/").map(String.init)
        let isHead = request.method == "HEAD"
        switch parts.first {
        case "hello": return self.text(self.hello, isHead)
        case "file": return .file(ServedFile(self.pattern, length: self.fileLength), request)
        case "gzip":
            return .response(200, [("Content-Encoding", "gzip"), ("Content-Type", "text/plain")], body: self.gzip)
        case "echo":
            return .response(200, [("Content-Type", "application/octet-stream")], body: isHead ? [] : request.body)
        case "cookie":
            return .response(200, [("Set-Cookie", "flavour=plain; Max-Age=7776000; path=/")], text: "set")
        case "status":
            let location = request.target.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init)
            let code = parts.last.flatMap { Int($0) } ?? 500
            return self.redirect(code, to: location, isHead)
        case "redirect":
            let count = parts.last.flatMap { Int($0) } ?? 0
            return self.redirect(302, to: count <= 1 ? "/hello" : "/redirect/\(count - 1)", isHead)
        default:
            return .response(404, [("Content-Type", "text/plain")], text: isHead ? "" : "nothing at \(request.path)")
        }
    }

    private static func text(_ text: String, _ isHead: Bool) -> Reply {
        let fields = [("Content-Type", "text/plain"), ("Content-Length", String(text.utf8.count))]
        return .response(200, fields, text: isHead ? "" : text)
    }

    private static func redirect(_ status: Int, to location: String?, _ isHead: Bool) -> Reply {
        let text = "see \(location ?? "nothing")"
        // 304 has no content.
        let length = status == 304 ? [] : [("Content-Length", String(text.utf8.count))]
        return .response(
            status,
            (location.map { [("Location", $0)] } ?? []) + length,
            text: isHead || status == 304 ? "" : text
        )
    }

    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4B, 0x54, 0x28, 0x49, 0xAD, 0x28,
        0x51, 0x28, 0xC9, 0x48, 0x2C, 0x51, 0x28, 0x4F, 0x2C, 0x56, 0x48, 0xCE, 0xCF, 0x2D, 0x28, 0x4A,
        0x2D, 0x2E, 0x4E, 0x4D, 0x01, 0x00, 0xB9, 0xBB, 0xA4, 0x78, 0x1A, 0x00, 0x00, 0x00,
    ]
}

// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The files of the receiver's page: style sheets, scripts and pictures.
///
/// They contain no secrets and are served without a credential.
enum PageAssets {
    /// The first name of their paths.
    static let directory = ".martlet-page"

    /// All files, by their names.
    static let files: [String: PageFile] = {
        let folder = "/\(Self.directory)"
        let files =
            PageFile.shared(in: folder) + [
                PageFile("\(folder)/receiver.css", PackageResources.receiver_css),
                PageFile("\(folder)/types.svg", PackageResources.types_svg),
                PageFile("\(folder)/receiver.js", PackageResources.receiver_js),
                PageFile("\(folder)/links.js", PackageResources.links_js),
                PageFile("\(folder)/uploads.js", PackageResources.uploads_js),
                PageFile("\(folder)/tus.js", PackageResources.tus_js),
                PageFile("\(folder)/hash.js", PackageResources.hash_js),
                PageFile("\(folder)/strings.en.js", PackageResources.strings_en_js),
                PageFile("\(folder)/strings.ja.js", PackageResources.strings_ja_js),
                PageFile("\(folder)/strings.zh.js", PackageResources.strings_zh_js),
            ]
        return Dictionary(uniqueKeysWithValues: files.map { (String($0.path.dropFirst(folder.count + 1)), $0) })
    }()

    /// Returns the handler of a request for a file.
    static func handler(_ path: TreePath, _ request: Request) -> any RequestHandler {
        guard path.names.count == 2, !path.endsWithSlash, let file = self.files[path.names[1]] else {
            return ImmediateHandler(.failure(.notFound))
        }
        guard request.head.method == "GET" || request.head.method == "HEAD" else {
            return ImmediateHandler(.message(405, "this file can only be read", ["Allow": "GET, HEAD"]))
        }
        return ImmediateHandler(file.response(request.head.fields))
    }

    /// The header fields of a page that loads these files.
    static func fields() -> HeaderFields {
        [
            "Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": PageFile.contentSecurityPolicy,
            // Not `no-referrer`: browsers would then submit the form with `Origin: null`, which is refused.
            "Referrer-Policy": "same-origin",
        ]
    }

    /// The beginning of a page, up to its body's tag.
    ///
    /// URLs are relative, so that they are right also below the path of a proxy.
    ///
    /// - Parameters:
    ///   - title: The title, not escaped.
    ///   - path: The path of the page.
    ///   - hasScript: Whether the page has the script.
    /// - Returns: HTML.
    static func head(_ title: String, at path: TreePath, hasScript: Bool) -> String {
        let folder = "\(self.top(from: path))\(self.directory)"
        let script = hasScript ? "\n<script type=\"module\" src=\"\(folder)/receiver.js\"></script>" : ""
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(HTMLText.escape(title))</title>
            <link rel="icon" href="\(folder)/icon.svg">
            <link rel="stylesheet" href="\(folder)/style.css">
            <link rel="stylesheet" href="\(folder)/receiver.css">\(script)
            </head>

            """
    }

    /// The relative URL of the served directory from a page: empty, or `../` for each directory.
    static func top(from path: TreePath) -> String {
        let depth = path.endsWithSlash ? path.names.count : max(0, path.names.count - 1)
        return depth == 0 ? "./" : String(repeating: "../", count: depth)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import CommandLineTool

@Suite("martlet put of directories and lists")
struct UploadTreeTests {
    private static func url(_ text: String) throws -> HTTPURL { try HTTPURL(text) }

    private static func items(_ path: String, names: [String]) -> [UploadTree.Item] {
        var tree = UploadTree(path, names: names)
        var items: [UploadTree.Item] = []
        while let item = tree.next() { items.append(item) }
        return items
    }

    @Test("files below a directory, hidden ones too; links, special files and empty directories are not sent")
    func walk() throws {
        let directory = try TemporaryDirectory()
        for path in ["top", "top/a", "top/a/b", "top/empty"] { #expect(mkdir(directory.path(path), 0o755) == 0) }
        for path in ["top/.hidden", "top/a/b/x y", "top/a/\u{E9}\n"] { try directory.write([1], to: path) }
        #expect(symlink("/etc/passwd", directory.path("top/link")) == 0)
        #expect(symlink("..", directory.path("top/a/loop")) == 0)
        #expect(mkfifo(directory.path("top/fifo"), 0o600) == 0)
        let root = directory.path("top")
        let items = Self.items(root, names: ["top"])
        let files = items.compactMap { item in
            if case .file(let path, let names) = item { (path, names) } else { nil }
        }
        #expect(
            Set(files.map(\.1)) == [["top", ".hidden"], ["top", "a", "b", "x y"], ["top", "a", "\u{E9}\n"]]
        )
        #expect(Set(files.map(\.0)) == [root + "/.hidden", root + "/a/b/x y", root + "/a/\u{E9}\n"])
        for (path, reason) in [
            ("link", UploadTree.Reason.link), ("a/loop", .link), ("fifo", .special), ("empty", .emptyDirectory),
        ] {
            #expect(items.contains(.leftOut("\(root)/\(path)", reason)))
        }
        #expect(items.count == 7)
        #expect(Self.items(directory.path("missing"), names: []).count == 1)
    }

    @Test("a name that is not UTF-8 cannot be sent, and is said")
    func invalidName() throws {
        let directory = try TemporaryDirectory()
        var name = Array(directory.path("").utf8CString.dropLast()) + [CChar(bitPattern: 0xFF), 0]
        let file = open(&name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        // Some file systems take UTF-8 only.
        guard file >= 0 else { return }
        close(file)
        let items = Self.items(directory.path("") + "/", names: [])
        guard case .unreadable(_, let reason)? = items.first else {
            Issue.record("\(items)")
            return
        }
        #expect(reason.contains("UTF-8") && items.count == 1)
    }

    @Test("as with rsync, a slash after the directory leaves its name out")
    func rsync() throws {
        let directory = try TemporaryDirectory()
        #expect(mkdir(directory.path("d"), 0o755) == 0)
        let url = try Self.url("http://h/in/")
        for (path, names) in [("d", ["d"]), ("d/", []), ("d/.", []), ("d/..", [])] {
            let item = try PutPlan.item(directory.path(path), to: url, by: "PUT")
            #expect(item.content == .tree(directory.path(path), names: names))
        }
        for (target, method) in [("http://h/in", "PUT"), ("http://h/in/", "POST")] {
            #expect(throws: SyntaxError.self) {
                try PutPlan.item(directory.path("d"), to: Self.url(target), by: method)
            }
        }
        #expect(throws: (any Error).self) { try PutCommand.plan(["--answer", directory.path("d"), "http://h/in/"]) }
    }

    @Test(
        "the URL of a file in a directory has its folders, percent-encoded, and a protocol creates it in the last one"
    )
    func urls() throws {
        let item = try PutPlan.item("x", named: ["d", "a b", "..\u{E9}#?\n"], to: Self.url("http://h/in/"), by: "PUT")
        #expect(item.url.description == "http://h/in/d/a%20b/..%C3%A9%23%3F%0A")
        #expect(item.collection?.description == "http://h/in/d/a%20b/")
    }

    @Test(
        "the paths of a list keep their directories; an absolute one has only its name",
        arguments: [
            ("a/b.txt", "http://h/in/a/b.txt"), ("./a//b.txt", "http://h/in/a/b.txt"), ("b.txt", "http://h/in/b.txt"),
            ("/etc/a/b.txt", "http://h/in/b.txt"), (".hidden/x", "http://h/in/.hidden/x"),
        ]
    )
    func listed(path: String, url: String) throws {
        #expect(try PutPlan.item(listed: path, to: Self.url("http://h/in/"), by: "PUT").url.description == url)
    }

    @Test("a list does not lead out of its directory", arguments: ["../a", "a/../b", "a/", "", ".", ".."])
    func outside(path: String) {
        #expect(throws: (any Error).self) { try PutPlan.item(listed: path, to: Self.url("http://h/in/"), by: "PUT") }
    }
}

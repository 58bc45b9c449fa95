// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

import Platform

@Suite(.timeLimit(.minutes(1)))
struct OfflineListTests {
    private static let damages = [
        "", "{", "[]", "{\"version\":0,\"items\":[]}", "{\"version\":1}", "{\"version\":1,\"items\":[{}]}",
        "{\"version\":2}", "{\"snapshot\":1,\"version\":2}\n", "{\"snapshot\":0,\"version\":2}\n{\"put\":[{}]}\n{}\n",
    ]

    @Test("a damaged list is set aside and reported, never emptied or overwritten; the next start has a new one")
    func damage() async throws {
        let stage = try await OfflineStage(holding: 1)
        mkdir(stage.place.path("app"), 0o755)
        for (number, damage) in Self.damages.enumerated() {
            try stage.place.write(Array(damage.utf8), to: "app/list.json")
            let error = #expect(throws: TransferError.self) { try stage.open() }
            #expect(error?.code == .listDamaged)
            let name = number == 0 ? "app/list.json.damaged" : "app/list.json.damaged.\(number)"
            #expect(error?.message.contains(stage.place.path(name)) == true)
            #expect(try stage.text(name) == damage)
            #expect(!stage.place.contains("app/list.json"))
        }
        let list = try stage.open()
        #expect(list.downloads.isEmpty)
        try list.add(stage.server.text("film.bin"))
        await list.close()
        // One that names a file outside its directory is damaged, too.
        for name in ["../film.bin", "/film.bin", "..", "a\\u0000b"] {
            let text = try stage.text(name == "../film.bin" ? "app/list.json" : "app/good.json")
            try stage.place.write(Array(text.utf8), to: "app/good.json")
            let bad = text.split(separator: "\"film.bin\"", omittingEmptySubsequences: false)
                .joined(separator: "\"\(name)\"")
            #expect(bad != text)
            try stage.place.write(Array(bad.utf8), to: "app/list.json")
            #expect(throws: TransferError.self) { try stage.open() }
            #expect(!stage.place.contains("app/list.json"))
        }
    }

    @Test("a list of a newer version is refused and left as it is")
    func newerVersion() async throws {
        let stage = try await OfflineStage()
        mkdir(stage.place.path("app"), 0o755)
        let text = "{\"version\":3,\"things\":[]}"
        try stage.place.write(Array(text.utf8), to: "app/list.json")
        let error = #expect(throws: TransferError.self) { try stage.open() }
        #expect(error?.code == .listTooNew)
        #expect(stage.names("app") == ["list.json", "list.json.lock"])
        #expect(try stage.text("app/list.json") == text)
    }

    @Test("a list is open once at a time, and free again once it is closed")
    func oneOwner() async throws {
        let stage = try await OfflineStage()
        let list = try stage.open()
        let error = #expect(throws: TransferError.self) { try stage.open() }
        #expect(error?.code == .listInUse)
        await list.close()
        await list.close()
        let next = try stage.open()
        #expect(next.downloads.isEmpty)
        let late = #expect(throws: TransferError.self) { try list.add(stage.server.text("film.bin")) }
        #expect(late?.code == .invalidated)
        let all = #expect(throws: TransferError.self) { try list.resumeAll() }
        #expect(all?.code == .invalidated)
        #expect(stage.server.requests.isEmpty)
    }

    @Test("credentials are not in the list's file unless the list keeps secrets, and its owner alone can read it")
    func secrets() async throws {
        let stage = try await OfflineStage(holding: 2)
        func add(_ list: OfflineDownloads) throws {
            var request = try TransferRequest("http://ann:p%40ss@127.0.0.1:\(stage.server.port)/film.bin")
            request.headers = ["Authorization": "Bearer token-1", "cookie": "sid=token-2", "X-Mine": "3"]
            try list.add(request)
        }
        let words = ["ann", "p%40ss", "token-1", "token-2"]
        let silent = try stage.open("silent")
        try add(silent)
        await stage.server.waitForRequests(1)
        #expect(stage.server.requests.last?["Authorization"] == "Bearer token-1")
        await silent.close()
        let text = try stage.text("silent/list.json")
        #expect(words.filter { text.contains($0) }.isEmpty)
        #expect(text.contains("X-Mine"))
        var status = stat()
        #expect(stat(stage.place.path("silent/list.json"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)

        let open = try stage.open("open", keepsSecrets: true)
        try add(open)
        // Held, too: one that is whole before the list is closed would not be interrupted.
        await stage.server.waitForRequests(2)
        await open.close()
        let whole = try stage.text("open/list.json")
        #expect(words.filter { !whole.contains($0) }.isEmpty)
        let count = stage.server.requests.count
        let again = try stage.open("open", keepsSecrets: true)
        let watcher = OfflineWatcher()
        again.addObserver(watcher)
        let download = try #require(try again.resumeInterrupted().first)
        await watcher.waitForFinish(of: download)
        #expect(stage.server.requests.count > count)
        #expect(stage.server.requests.last?["Authorization"] == "Bearer token-1")
        #expect(stage.server.requests.last?["Cookie"] == "sid=token-2")
    }

    @Test("two downloads never share a name, nor take one that a file has, and a name leads nowhere else")
    func names() async throws {
        let stage = try await OfflineStage(holding: 1)
        let list = try stage.open()
        try stage.place.write([1], to: "app/taken.bin")
        try stage.place.write([1], to: "app/half.bin.part")
        let url = stage.server.text("film.bin")
        #expect(try list.add(url).name == "film.bin")
        #expect(try list.add(url).name == "film.1.bin")
        #expect(try list.add(url).name == "film.2.bin")
        #expect(try list.add(url, name: "taken.bin").name == "taken.1.bin")
        #expect(try list.add(url, name: "half.bin").name == "half.1.bin")
        // The partial file of another download.
        #expect(try list.add(url, name: "film.bin.part").name == "film.bin.1.part")
        #expect(try list.add(url, name: "list.json").name == "list.1.json")
        #expect(try list.add(url, name: "../../outside").name == "outside")
        #expect(try list.add(url, name: "a\nb").name == "ab")
        #expect(try list.add(stage.server.text("")).name == "download")
        await list.close()
    }

    @Test("what cannot be repeated is refused: another method, content, conditions; and what is no URL")
    func requests() async throws {
        let stage = try await OfflineStage()
        let list = try stage.open()
        var post = try TransferRequest(stage.server.text("film.bin"))
        post.method = "POST"
        post.body = [1]
        let conditional = try TransferRequest(stage.server.text("film.bin")).ifNoneMatch("\"v1\"")
        for request in [post, conditional] {
            let error = #expect(throws: TransferError.self) { try list.add(request) }
            #expect(error?.code == .badRequest)
        }
        let error = #expect(throws: TransferError.self) { try list.add("ftp://example.com/") }
        #expect(error?.code == .badURL)
        #expect(list.downloads.isEmpty)
    }

    @Test("if the list cannot be written the caller gets an error, nothing is added, and nothing is lost")
    func unwritable() async throws {
        let stage = try await OfflineStage(holding: 1)
        let list = try OfflineDownloads(
            list: stage.place.path("lists/list.json"),
            directory: stage.place.path("app"),
            configuration: OfflineStage.configuration
        )
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let download = try list.add(stage.server.text("film.bin"))
        await watcher.wait(forBytes: OfflineStage.part, of: download)
        // Its directory is gone, which stops even a superuser.
        #expect(rename(stage.place.path("lists"), stage.place.path("moved")) == 0)
        let adding = #expect(throws: TransferError.self) { try list.add(stage.server.text("other.bin")) }
        #expect(adding?.code == .file)
        #expect(list.downloads == [download])
        let suspending = #expect(throws: TransferError.self) { try download.suspend() }
        #expect(suspending?.code == .file)
        #expect(download.state == .suspended)
        await stage.server.waitForOpenConnections(0)
        #expect(throws: TransferError.self) { try download.resume() }
        await watcher.waitForFinish(of: download)
        await watcher.wait { !$0.errors.isEmpty }
        #expect(stage.isWhole(download.path))
        // The next change that can be written has it all.
        #expect(rename(stage.place.path("moved"), stage.place.path("lists")) == 0)
        try download.setUserInfo(["seen": "yes"])
        await list.close()
        let again = try OfflineDownloads(list: stage.place.path("lists/list.json"), directory: stage.place.path("app"))
        #expect(again.finishedDownloads == [download])
        #expect(again.finishedDownloads.first?.userInfo == ["seen": "yes"])
        #expect(stage.server.requests(for: "/other.bin").isEmpty)
    }

    @Test("a list that cannot be made is an error of its start")
    func unmakeable() async throws {
        let stage = try await OfflineStage()
        try stage.place.write([1], to: "app")
        let error = #expect(throws: TransferError.self) { try stage.open() }
        #expect(error?.code == .file)
    }

    @Test("many threads may add, change and ask at once, and all of it is in the list")
    func threads() async throws {
        let stage = try await OfflineStage(holding: 100)
        var list = try stage.open()
        list.concurrentTransfers = 2
        await withTaskGroup { [list] group in
            for number in 0..<40 {
                group.addTask {
                    do {
                        let download = try list.add(stage.server.text("film.bin"), userInfo: ["number": "\(number)"])
                        if number % 2 == 0 { try download.suspend() }
                        if number % 4 == 1 { try download.stop() }
                        if number % 5 == 0 { try download.remove() }
                        #expect(list.downloads.count <= 40)
                    } catch {
                        Issue.record(error)
                    }
                }
            }
        }
        let left = list.downloads
        #expect(left.count == 32)
        #expect(Set(left.map(\.name)).count == 32)
        await list.close()
        list = try stage.open()
        #expect(list.downloads == left)
        for download in list.downloads {
            let number = try #require(download.userInfo["number"].flatMap { Int($0) })
            let isInterrupted = number % 2 != 0 && number % 4 != 1
            #expect(download.isInterrupted == isInterrupted)
            #expect(download.state == (number % 4 == 1 ? .stopped : .suspended))
        }
    }
}

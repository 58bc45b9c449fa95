// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

import Platform

@Suite(.timeLimit(.minutes(1)))
struct OfflinePersistenceTests {
    private static let partial = ["list.json", "film.bin.part", "film.bin.part.journal"]

    /// A list whose one download has a part of its bytes and gets no more.
    private func halfWay(_ stage: OfflineStage) async throws -> (OfflineDownloads, OfflineDownload) {
        let list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let download = try list.add(stage.server.text("film.bin"), userInfo: ["title": "A film"])
        await watcher.wait(forBytes: OfflineStage.part, of: download)
        return (list, download)
    }

    @Test("what is added is in the list's file when add returns, with all that its owner said")
    func adding() async throws {
        let stage = try await OfflineStage(holding: 1)
        let list = try stage.open()
        var request = try TransferRequest(stage.server.text("film.bin?q=1"))
        request.headers.append("X-Mine", "1")
        request.priority = .high
        let download = try list.add(
            request,
            name: "my film.bin",
            userInfo: ["title": "Ein Käfer"],
            keepsOverRestarts: true
        )
        try stage.crash(into: "crashed", ["list.json"])
        // The first answer, which never ends, is not the second list's.
        await stage.server.waitForRequests(1)
        let again = try stage.open("crashed")
        let same = try #require(again.download(id: download.id))
        #expect(again.downloads == [download])
        #expect(same.url == download.url)
        #expect(same.name == "my film.bin")
        #expect(same.path == stage.place.path("crashed/my film.bin"))
        #expect(same.userInfo == ["title": "Ein Käfer"])
        #expect(same.keepsOverRestarts)
        #expect(same.state == .suspended)
        #expect(same.isInterrupted)
        let watcher = OfflineWatcher()
        again.addObserver(watcher)
        try again.resumeInterrupted()
        await watcher.waitForFinish(of: same)
        #expect(stage.isWhole(same.path))
        #expect(stage.server.requests.last?["X-Mine"] == "1")
    }

    @Test(
        "after a crash the list and the bytes are there, and downloads resume if the program requests it",
        .enabled(if: OfflineStage.copiesPairs)
    )
    func crash() async throws {
        let stage = try await OfflineStage(holding: 1)
        let (list, download) = try await self.halfWay(stage)
        try stage.crash(into: "crashed", Self.partial)
        let again = try stage.open("crashed")
        let same = try #require(again.downloads.first)
        #expect(same == download)
        #expect(same.state == .suspended)
        #expect(same.bytesReceived == OfflineStage.part)
        #expect(same.bytesExpected == OfflineStage.length)
        let watcher = OfflineWatcher()
        again.addObserver(watcher)
        #expect(try again.resumeInterrupted() == [same])
        #expect(same.state != .suspended)
        await watcher.waitForFinish(of: same)
        #expect(stage.isWhole(stage.place.path("crashed/film.bin")))
        #expect(stage.server.requests.last?["Range"] == "bytes=\(OfflineStage.part)-")
        #expect(watcher.log.written[same.id] == OfflineStage.length - OfflineStage.part)
        #expect(list.downloads == [download])
    }

    @Test("a list released without closing keeps its bytes and is free for the next one")
    func dropping() async throws {
        let stage = try await OfflineStage(holding: 1)
        var list: OfflineDownloads?
        var download: OfflineDownload
        (list, download) = try await self.halfWay(stage)
        #expect(list?.downloads.count == 1)
        list = nil
        while list == nil {
            do {
                list = try stage.open()
            } catch let error as TransferError where error.code == .listInUse {
                await Task.yield()
            }
        }
        let error = #expect(throws: TransferError.self) { try download.suspend() }
        #expect(error?.code == .invalidated)
        download = try #require(list?.downloads.first)
        #expect(download.isInterrupted)
        #expect(download.bytesReceived == OfflineStage.part)
        let watcher = OfflineWatcher()
        list?.addObserver(watcher)
        try list?.resumeInterrupted()
        await watcher.waitForFinish(of: download)
        #expect(stage.isWhole(download.path))
    }

    @Test("no transient state is kept: what was waiting counts as downloading, what was suspended stays suspended")
    func transientStates() async throws {
        // None completes, however often it is requested: the second may start while the first is cut off.
        let stage = try await OfflineStage(holding: 100)
        var list = try stage.open()
        list.concurrentTransfers = 1
        let downloads = try ["a.bin", "b.bin", "c.bin"].map { try list.add(stage.server.text($0)) }
        try downloads[2].suspend()
        await list.close()
        list = try stage.open()
        #expect(list.downloads == downloads)
        #expect(list.downloads.map(\.state) == [.suspended, .suspended, .suspended])
        #expect(list.downloads.map(\.isInterrupted) == [true, true, false])
        // Listing does not decide: a run that does not resume them leaves that to the next one.
        await list.close()
        list = try stage.open()
        #expect(list.downloads.map(\.isInterrupted) == [true, true, false])
        try list.downloads[0].suspend()
        await list.close()
        list = try stage.open()
        #expect(list.downloads.map(\.isInterrupted) == [false, true, false])
        #expect(try list.resumeInterrupted() == [downloads[1]])
        #expect(list.downloads.map(\.state) == [.suspended, .downloading, .suspended])
        #expect(list.downloads.map(\.isInterrupted) == [false, false, false])
        await list.close()
    }

    @Test("what is not kept over restarts goes with its partial bytes, a finished file stays, and this can be changed")
    func keeping() async throws {
        let stage = try await OfflineStage(holding: 1)
        var list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let gone = try list.add(stage.server.text("gone.bin"), keepsOverRestarts: false)
        let kept = try list.add(stage.server.text("kept.bin"), keepsOverRestarts: false)
        let dropped = try list.add(stage.server.text("dropped.bin"))
        for download in [gone, kept, dropped] { await watcher.wait(forBytes: OfflineStage.part, of: download) }
        let whole = try list.add(stage.server.text("gone.bin"), name: "whole.bin", keepsOverRestarts: false)
        await watcher.waitForFinish(of: whole)
        try kept.setKeepsOverRestarts(true)
        try dropped.setKeepsOverRestarts(false)
        try dropped.setUserInfo(["a": "b"])
        #expect(dropped.userInfo == ["a": "b"])
        await list.close()
        #expect(stage.place.contains("app/gone.bin.part"))
        list = try stage.open()
        #expect(list.downloads == [kept])
        #expect(list.finishedDownloads.isEmpty)
        let left = ["kept.bin.part", "kept.bin.part.journal", "list.json", "list.json.lock", "whole.bin"]
        #expect(stage.names("app") == left)
        #expect(try !stage.text("app/list.json").contains("gone.bin"))
    }

    @Test("finished downloads stay in the list over restarts, up to the limit, and their files beyond it")
    func finished() async throws {
        let stage = try await OfflineStage()
        var list = try stage.open(finishedLimit: 2)
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        var downloads: [OfflineDownload] = []
        for number in 1...3 {
            let download = try list.add(stage.server.text("\(number).bin"))
            await watcher.waitForFinish(of: download)
            downloads.append(download)
        }
        #expect(list.finishedDownloads == Array(downloads.dropFirst()))
        await list.close()
        list = try stage.open(finishedLimit: 1)
        #expect(list.finishedDownloads == [downloads[2]])
        #expect(list.finishedDownloads.first?.state == .finished)
        #expect(list.finishedDownloads.first?.bytesReceived == OfflineStage.length)
        #expect(stage.isWhole(stage.place.path("app/1.bin")))
    }

    @Test("a file that got its name just before the crash is not fetched again")
    func crashAfterCommit() async throws {
        let stage = try await OfflineStage(holding: 1)
        let (list, _) = try await self.halfWay(stage)
        try stage.crash(into: "crashed", ["list.json"])
        let bytes = stage.file.pattern.bytes(0..<OfflineStage.length)
        // 2025-07-01T10:00:00Z, as the server says.
        try stage.place.write(bytes, to: "crashed/film.bin", modified: 1_751_364_000)
        let again = try stage.open("crashed")
        let watcher = OfflineWatcher()
        again.addObserver(watcher)
        let download = try #require(try again.resumeInterrupted().first)
        await watcher.waitForFinish(of: download)
        #expect(download.name == "film.bin")
        // Bytes that the kernel took are counted a moment later, and before their connection is closed.
        await stage.server.closeConnections()
        #expect(stage.server.bodyBytesSent == OfflineStage.part)
        #expect(stage.names("crashed") == ["film.bin", "list.json", "list.json.lock"])
        await list.close()
    }

    @Test("a foreign file that took the name meanwhile is never overwritten")
    func foreignFile() async throws {
        let stage = try await OfflineStage(holding: 1)
        let (list, _) = try await self.halfWay(stage)
        try stage.crash(into: "crashed", ["list.json"])
        try stage.place.write([1, 2, 3], to: "crashed/film.bin")
        let again = try stage.open("crashed")
        let watcher = OfflineWatcher()
        again.addObserver(watcher)
        let download = try #require(try again.resumeInterrupted().first)
        await watcher.waitForFinish(of: download)
        #expect(try stage.place.read("crashed/film.bin") == [1, 2, 3])
        #expect(download.name == "film.1.bin")
        #expect(stage.isWhole(download.path))
        await list.close()
    }

    @Test(
        "a download that was removed just before the crash leaves no bytes after the next start",
        .enabled(if: OfflineStage.copiesPairs)
    )
    func crashAfterRemoval() async throws {
        let stage = try await OfflineStage(holding: 1)
        let (list, _) = try await self.halfWay(stage)
        try stage.crash(into: "crashed", Self.partial)
        let text = try stage.text("crashed/list.json")
        let removed = text.split(separator: "\"downloading\"", omittingEmptySubsequences: false)
            .joined(separator: "\"removed\"")
        #expect(removed != text)
        try stage.place.write(Array(removed.utf8), to: "crashed/list.json")
        let again = try stage.open("crashed")
        #expect(again.downloads.isEmpty)
        #expect(stage.names("crashed") == ["list.json", "list.json.lock"])
        await list.close()
    }
}

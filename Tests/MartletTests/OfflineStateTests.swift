// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite(.timeLimit(.minutes(1)))
struct OfflineStateTests {
    @Test("a finished download has its file, is reported once, and moves from the active to the finished ones")
    func finishing() async throws {
        let stage = try await OfflineStage()
        let list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let download = try list.add(stage.server.text("film.bin"))
        await watcher.waitForFinish(of: download)
        #expect(download.state == .finished)
        #expect(list.downloads.isEmpty)
        #expect(list.finishedDownloads == [download])
        #expect(download.path == stage.place.path("app/film.bin"))
        #expect(download.bytesReceived == OfflineStage.length)
        #expect(download.bytesExpected == OfflineStage.length)
        #expect(download.fraction == 1)
        #expect(stage.isWhole(download.path))
        await list.close()
        #expect(watcher.log.finished == [download.id])
        #expect(watcher.log.states[download.id] == [.finished])
    }

    @Test("suspending keeps the bytes, resuming continues from them, and observers get each byte once")
    func suspending() async throws {
        let stage = try await OfflineStage(holding: 1)
        let list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let download = try list.add(stage.server.text("film.bin"))
        await watcher.wait(forBytes: OfflineStage.part, of: download)
        try download.suspend()
        #expect(download.state == .suspended)
        #expect(download.rate == 0)
        try download.suspend()
        await stage.server.waitForOpenConnections(0)
        #expect(stage.place.contains("app/film.bin.part"))
        try download.resume()
        await watcher.waitForFinish(of: download)
        #expect(stage.isWhole(download.path))
        #expect(stage.server.requests.last?["Range"] == "bytes=\(OfflineStage.part)-")
        #expect(watcher.log.written[download.id] == OfflineStage.length)
        #expect(watcher.log.states[download.id] == [.suspended, .downloading, .finished])
    }

    @Test("stopping deletes the partial bytes, and resuming then begins at zero")
    func stopping() async throws {
        let stage = try await OfflineStage(holding: 1)
        let list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let download = try list.add(stage.server.text("film.bin"))
        await watcher.wait(forBytes: OfflineStage.part, of: download)
        try download.stop()
        #expect(download.state == .stopped)
        #expect(download.bytesReceived == 0)
        try download.resume()
        await watcher.waitForFinish(of: download)
        #expect(stage.isWhole(download.path))
        #expect(stage.server.requests.count == 2)
        #expect(stage.server.requests.last?["Range"] == nil)
        #expect(watcher.log.states[download.id] == [.stopped, .downloading, .finished])
    }

    @Test("a suspended download that is stopped leaves no bytes, and none after a restart")
    func stoppingSuspended() async throws {
        let stage = try await OfflineStage(holding: 1)
        let list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let download = try list.add(stage.server.text("film.bin"))
        await watcher.wait(forBytes: OfflineStage.part, of: download)
        try download.suspend()
        try download.stop()
        await list.close()
        #expect(stage.names("app") == ["list.json", "list.json.lock"])
        let again = try stage.open()
        #expect(again.downloads.map(\.state) == [.stopped])
    }

    @Test("suspend, resume and stop for all reach each download that has not finished")
    func all() async throws {
        let stage = try await OfflineStage(holding: 1)
        let list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let downloads = try ["a.bin", "b.bin", "c.bin"].map { try list.add(stage.server.text($0)) }
        for download in downloads { await watcher.wait(forBytes: OfflineStage.part, of: download) }
        try list.suspendAll()
        #expect(list.downloads.map(\.state) == [.suspended, .suspended, .suspended])
        try downloads[1].stop()
        await stage.server.waitForOpenConnections(0)
        try list.resumeAll()
        #expect(downloads.allSatisfy { $0.state != .suspended && $0.state != .stopped })
        for download in downloads { await watcher.waitForFinish(of: download) }
        #expect(stage.server.requests.suffix(3).compactMap { $0["Range"] }.count == 2)
        #expect(list.downloads.isEmpty)
        let more = try ["d.bin", "e.bin"].map { try list.add(stage.server.text($0)) }
        for download in more { await watcher.wait(forBytes: OfflineStage.part, of: download) }
        try list.stopAll()
        #expect(more.map(\.state) == [.stopped, .stopped])
        #expect(list.finishedDownloads.count == 3)
        await list.close()
        #expect(!stage.place.contains("app/d.bin.part"))
    }

    @Test("the end of one download touches neither the file nor the bytes of another")
    func oneEnd() async throws {
        let stage = try await OfflineStage(holding: 1)
        let list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let (first, second) = (try list.add(stage.server.text("a.bin")), try list.add(stage.server.text("b.bin")))
        for download in [first, second] { await watcher.wait(forBytes: OfflineStage.part, of: download) }
        // The second request of a download is answered to its end; the first one must have ended before.
        try first.suspend()
        await stage.server.waitForOpenConnections(1)
        try first.resume()
        await watcher.waitForFinish(of: first)
        #expect(second.state == .downloading && second.bytesReceived == OfflineStage.part)
        #expect(stage.server.requests(for: "/b.bin").count == 1)
        await list.close()
        let again = try stage.open()
        again.addObserver(watcher)
        try again.resumeInterrupted()
        await watcher.waitForFinish(of: second)
        #expect(stage.server.requests(for: "/b.bin").last?["Range"] == "bytes=\(OfflineStage.part)-")
        #expect(stage.isWhole(first.path) && stage.isWhole(stage.place.path("app/b.bin")))
        await again.close()
    }

    @Test("a failed download has a reason, also in the next run, and can be resumed")
    func failing() async throws {
        let stage = try await OfflineStage()
        var list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let download = try list.add(stage.server.text("missing"))
        await watcher.wait(for: .failed, of: download)
        #expect(download.error?.code == .httpStatus)
        await list.close()
        list = try stage.open()
        let same = try #require(list.download(id: download.id))
        #expect(same.state == .failed)
        #expect(!same.isInterrupted)
        #expect(same.error?.code == .httpStatus)
        #expect(same.error?.status == 404)
        #expect(same.error?.reasonPhrase == "Not Found")
        #expect(same.error?.message == download.error?.message)
        #expect(try list.resumeInterrupted().isEmpty)
        list.addObserver(watcher)
        try same.resume()
        await watcher.wait { $0.states[same.id] == [.failed, .downloading, .failed] }
        #expect(stage.server.requests.count == 2)
    }

    @Test("a download that failed in the middle keeps its bytes and resumes from them")
    func failingOnTheWay() async throws {
        let place = try TemporaryDirectory()
        var file = ServedFile(length: OfflineStage.length)
        file.interruption = .closeAfter(OfflineStage.part)
        file.interruptedResponses = 1
        let server = try await ScriptedServer.start { [file] in .file(file, $0) }
        let list = try OfflineDownloads(
            list: place.path("list"),
            directory: place.path,
            configuration: OfflineStage.configuration
        )
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let download = try list.add(server.text("film.bin"))
        await watcher.wait(for: .failed, of: download)
        #expect(download.error?.isRetryable == true)
        #expect(download.bytesReceived == OfflineStage.part)
        try download.resume()
        #expect(download.error == nil)
        await watcher.waitForFinish(of: download)
        #expect(server.requests.last?["Range"] == "bytes=\(OfflineStage.part)-")
        #expect(file.pattern.difference(fromFileAt: download.path, length: file.length) == nil)
    }

    @Test("removing takes it out of the list: with its partial bytes, with the file where asked, without it otherwise")
    func removing() async throws {
        let stage = try await OfflineStage()
        let held = try await OfflineStage(holding: 1)
        let list = try stage.open()
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        let kept = try list.add(stage.server.text("kept.bin"))
        let gone = try list.add(stage.server.text("gone.bin"))
        let partial = try list.add(held.server.text("partial.bin"))
        await watcher.waitForFinish(of: kept)
        await watcher.waitForFinish(of: gone)
        await watcher.wait(forBytes: OfflineStage.part, of: partial)
        try kept.remove()
        try gone.remove(deletingFile: true)
        try partial.remove()
        #expect(list.downloads.isEmpty)
        #expect(list.finishedDownloads.isEmpty)
        let error = #expect(throws: TransferError.self) { try partial.resume() }
        #expect(error?.code == .invalidated)
        await list.close()
        #expect(stage.names("app") == ["kept.bin", "list.json", "list.json.lock"])
        #expect(try stage.open().finishedDownloads.isEmpty)
    }

    @Test("an observer of one download observes that one; a released or removed one observes nothing")
    func observers() async throws {
        let stage = try await OfflineStage(holding: 1)
        let list = try stage.open()
        let (all, own, removed) = (OfflineWatcher(), OfflineWatcher(), OfflineWatcher())
        list.addObserver(all)
        let first = try list.add(stage.server.text("a.bin"))
        let second = try list.add(stage.server.text("b.bin"))
        first.addObserver(own)
        first.addObserver(removed)
        first.removeObserver(removed)
        weak var gone: OfflineWatcher?
        do {
            let watcher = OfflineWatcher()
            gone = watcher
            first.addObserver(watcher)
        }
        // The reporter of bytes looks up the observers, and retains them for that moment.
        while gone != nil { await Task.yield() }
        for download in [first, second] { await all.wait(forBytes: OfflineStage.part, of: download) }
        try list.suspendAll()
        // If that is undone at once, their transfers can continue, and these would wait for ever.
        await stage.server.waitForOpenConnections(0)
        try list.resumeAll()
        for download in [first, second] { await all.waitForFinish(of: download) }
        await own.wait(for: .finished, of: first)
        #expect(own.log.states[first.id] == [.suspended, .downloading, .finished])
        #expect(own.log.states[second.id] == nil)
        #expect(removed.log.states.isEmpty)
    }

    @Test("rates are of the last seconds, of one download and of all, and sizes are written to either base")
    func rates() async throws {
        let place = try TemporaryDirectory()
        let server = try await ScriptedServer.start { request in
            var file = ServedFile(length: 2 << 20)
            // Sixteen seconds, whose end is not awaited: the rate is available however late it is read.
            if request.targetIndex == 0 { file.rate = 1 << 17 }
            return .file(file, request)
        }
        let list = try OfflineDownloads(
            list: place.path("list"),
            directory: place.path,
            configuration: OfflineStage.configuration
        )
        let watcher = OfflineWatcher()
        list.addObserver(watcher)
        #expect(list.rate == 0)
        #expect(list.rateText() == "0B/s")
        let download = try list.add(server.text("film.bin"))
        await watcher.wait { $0.rates.contains { $0 > 0 } }
        #expect(list.rate > 0)
        try download.suspend()
        #expect(download.rate == 0)
        await server.waitForOpenConnections(0)
        try download.resume()
        await watcher.waitForFinish(of: download)
        #expect(download.receivedText() == "2.00MB")
        #expect(download.receivedText(base: .decimal) == "2.10MB")
        #expect(download.expectedText() == "2.00MB")
        #expect(watcher.log.rates.allSatisfy { $0 >= 0 })
    }
}

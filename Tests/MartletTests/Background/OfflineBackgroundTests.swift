// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Martlet
import Testing
import TransferTesting

import Platform

@Suite("A list of downloads on a background session", .timeLimit(.minutes(1)))
struct OfflineBackgroundTests {
    private let daemon: FakeDaemon
    private let watcher = OfflineWatcher()

    init() throws { self.daemon = try FakeDaemon() }

    private func open(_ change: (inout SessionConfiguration) -> Void = { _ in }) throws -> OfflineDownloads {
        try OfflineDownloads(
            list: self.daemon.directory.path("app/list.json"),
            directory: self.daemon.directory.path("app"),
            configuration: self.daemon.configuration(change),
            observer: self.watcher
        )
    }

    /// Adds a download that the daemon takes.
    private func add(_ name: String, to list: OfflineDownloads) async throws -> (OfflineDownload, gid: String) {
        let before = self.daemon.added.count
        let download = try list.add("http://example.com/\(name)")
        await self.daemon.calls.wait { FakeDaemon.added($0).count > before }
        let gid = try #require(self.daemon.added.dropFirst(before).first, "the daemon was not asked to add it")
        return (download, gid)
    }

    private func finish(_ gid: String, _ name: String) {
        let path = self.daemon.directory.path("app/\(name)")
        self.daemon.emit([
            "kind": "finished", "id": .string(gid), "path": .string(path), "bytes": 5, "received": 5,
            "skipped": false, "notModified": false,
        ])
    }

    private func fail(_ gid: String) {
        self.daemon.emit([
            "kind": "failed", "id": .string(gid),
            "error": ["code": 3, "message": "404", "remedy": "", "status": 404],
        ])
    }

    private func wait(for method: String, _ count: Int = 1) async -> JSON? {
        await self.daemon.calls.wait { $0.count { $0.method == method } >= count }
        return self.daemon.calls.entries.last { $0.method == method }?.parameters
    }

    /// Lets the daemon forget all acknowledged state, and the program notice.
    private func loseState() {
        self.daemon.script { call, _ in
            call.method == "martlet.openSession" ? .result(["transfers": [], "acknowledged": 0, "last": 0]) : nil
        }
    }

    private func text() throws -> String {
        String(decoding: try self.daemon.directory.read("app/list.json"), as: UTF8.self)
    }

    // MARK: Opening again

    @Test("downloads in the daemon continue there, are found running, and are not added a second time")
    func adopted() async throws {
        try await self.daemon.start()
        var list = try self.open()
        let (download, gid) = try await self.add("a", to: list)
        let options = self.daemon.calls.entries.last?.parameters["entries"]?[0]?["options"]
        let extra = try JSON(parsing: options?["user-info"]?.string ?? "")
        #expect(extra["info"]?.string == download.id)
        // The first list's stream, which may come after the add, or not at all where the list is closed before.
        await self.daemon.streams.wait(for: 1)
        await list.close()
        #expect(!self.daemon.calls.entries.contains { $0.method == "martlet.remove" || $0.method == "martlet.pause" })
        #expect(await self.wait(for: "martlet.closeSession")?["keepTransfers"] == true)
        #expect(try self.text().contains("\"downloading\""))
        list = try self.open()
        let same = try #require(list.downloads.first)
        #expect(same == download)
        #expect(same.state == .downloading)
        #expect(!same.isInterrupted)
        #expect(try list.resumeInterrupted().isEmpty)
        await self.daemon.streams.wait(for: 2)
        self.daemon.tell(["kind": "progress", "id": .string(gid), "bytes": 3, "total": 5, "rate": 1])
        await self.watcher.wait(forBytes: 3, of: same)
        self.finish(gid, "a")
        await self.watcher.waitForFinish(of: same)
        #expect(self.daemon.added == [gid])
        #expect(list.finishedDownloads == [download])
        #expect(list.downloads.isEmpty)
    }

    @Test("an end is acknowledged no sooner than the list has it on disk")
    func acknowledged() async throws {
        try await self.daemon.start()
        let list = try self.open()
        let (download, gid) = try await self.add("a", to: list)
        let (other, _) = try await self.add("b", to: list)
        // The list's directory is gone, which stops even a superuser.
        let (here, away) = (self.daemon.directory.path("app"), self.daemon.directory.path("away"))
        try #require(rename(here, away) == 0)
        self.finish(gid, "a")
        await self.watcher.waitForFinish(of: download)
        await self.watcher.wait { !$0.errors.isEmpty }
        list.concurrentTransfers = 2
        _ = await self.wait(for: "martlet.openSession", 2)
        #expect(!self.daemon.calls.entries.contains { $0.method == "martlet.acknowledge" })
        try #require(rename(away, here) == 0)
        try other.setUserInfo(["a": "b"])
        #expect(await self.wait(for: "martlet.acknowledge")?["upTo"] == 1)
        #expect(try self.text().contains("\"finished\""))
    }

    @Test("an end that came meanwhile is the download's, and is on disk before it is acknowledged")
    func meanwhile() async throws {
        try await self.daemon.start()
        var list = try self.open()
        let (good, goodGID) = try await self.add("good", to: list)
        let (bad, badGID) = try await self.add("bad", to: list)
        await list.close()
        self.finish(goodGID, "good")
        self.fail(badGID)
        self.daemon.script { call, _ in
            guard call.method == "martlet.acknowledge" else { return nil }
            guard call.parameters["upTo"] == 2, let text = try? self.text() else { return nil }
            #expect(text.contains("\"finished\"") && text.contains("\"failed\""))
            return nil
        }
        list = try self.open()
        await self.watcher.waitForFinish(of: good)
        await self.watcher.wait(for: .failed, of: bad)
        #expect(list.downloads == [bad])
        #expect(list.downloads.first?.error?.status == 404)
        #expect(list.finishedDownloads == [good])
        await self.daemon.calls.wait { calls in
            calls.contains { $0.method == "martlet.acknowledge" && $0.parameters["upTo"] == 2 }
        }
        #expect(self.daemon.added == [goodGID, badGID])
    }

    @Test("downloads unknown to the daemon restart automatically, once")
    func unknown() async throws {
        try await self.daemon.start()
        var list = try self.open()
        let (download, gid) = try await self.add("a", to: list)
        let (resting, _) = try await self.add("b", to: list)
        try resting.suspend()
        await list.close()
        let other = try FakeDaemon()
        try await other.start()
        list = try self.open { $0 = other.configuration() }
        await other.calls.wait { FakeDaemon.added($0).count == 1 }
        #expect(list.downloads.map(\.state) == [.downloading, .suspended])
        try resting.resumeIn(list)
        await other.calls.wait { FakeDaemon.added($0).count == 2 }
        #expect(other.added.first != gid)
        let urls = other.calls.entries.filter { $0.method == "martlet.add" }
            .compactMap { $0.parameters["entries"]?[0]?["urls"]?[0]?.string }
        #expect(urls == ["http://example.com/a", "http://example.com/b"])
        #expect(self.watcher.log.states[download.id] == nil)
    }

    @Test("a download that was added while no daemon could be reached is begun at the next opening")
    func unreachable() async throws {
        var list = try self.open()
        let download = try list.add("http://example.com/a")
        #expect(download.state == .downloading)
        await list.close()
        #expect(self.daemon.calls.entries.isEmpty)
        try await self.daemon.start()
        list = try self.open()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        #expect(list.downloads == [download])
    }

    @Test("what was decided and did not reach the daemon is done at the next opening")
    func decided() async throws {
        try await self.daemon.start()
        var list = try self.open()
        let names = ["rests", "stopped", "gone", "goes"]
        var (downloads, gids): ([OfflineDownload], [String]) = ([], [])
        for name in names {
            let (download, gid) = try await self.add(name, to: list)
            downloads.append(download)
            gids.append(gid)
        }
        try downloads[3].suspend()
        _ = await self.wait(for: "martlet.pause")
        // From here on nothing of what is said is done.
        self.daemon.script { call, _ in call.method == "martlet.openSession" ? nil : .result([:]) }
        try downloads[0].suspend()
        try downloads[1].stop()
        try downloads[2].setKeepsOverRestarts(false)
        try downloads[3].resume()
        await list.close()
        let count = self.daemon.calls.entries.count
        self.daemon.script { _, _ in nil }
        list = try self.open()
        _ = await self.wait(for: "martlet.pause", 3)
        await self.daemon.calls.wait { calls in
            calls.dropFirst(count).count { $0.method == "martlet.remove" } == 2
        }
        let calls = self.daemon.calls.entries.dropFirst(count)
        #expect(calls.filter { $0.method == "martlet.pause" }.map { $0.parameters["ids"]?[0]?.string } == [gids[0]])
        #expect(
            calls.filter { $0.method == "martlet.remove" }.map { $0.parameters["ids"]?[0]?.string } == [
                gids[1], gids[2],
            ]
        )
        #expect(list.downloads.map(\.state) == [.suspended, .stopped, .downloading])
        self.daemon.emit(["kind": "removed", "id": .string(gids[2])])
        let id = downloads[2].id
        await self.daemon.calls.wait { _ in (try? self.text().contains("\"gone\":[\"\(id)\"]")) == true }
        #expect(self.daemon.added == gids)
    }

    @Test("of two tasks of one download one is kept")
    func twice() async throws {
        try await self.daemon.start()
        var list = try self.open()
        let (download, gid) = try await self.add("a", to: list)
        await list.close()
        for (number, state) in [(UInt64(1), TransferRecord.State.failed), (2, .waiting)] {
            var record = TransferRecord(
                id: try #require(GID(rawValue: number)),
                session: "test.session",
                state: state,
                urls: ["http://example.com/a"],
                directory: self.daemon.directory.path("app"),
                added: 1
            )
            record.options[.userInfo] = #"{"task":\#(number),"temporary":false,"info":"\#(download.id)"}"#
            self.daemon.hold(record)
        }
        self.fail("0000000000000001")
        list = try self.open()
        let removal = await self.wait(for: "martlet.remove")
        #expect(removal?["deletePartial"] == false)
        let kept = removal?["ids"] == [.string(gid)] ? "0000000000000002" : gid
        self.finish(kept, "a")
        await self.watcher.waitForFinish(of: download)
        #expect(self.watcher.log.states[download.id] == [.finished])
        #expect(self.daemon.added == [gid])
    }

    // MARK: The daemon's loss

    @Test("a download cut off by the loss of the daemon resumes automatically, and stays downloading")
    func reconnected() async throws {
        try await self.daemon.start()
        let list = try self.open()
        let (download, gid) = try await self.add("a", to: list)
        await self.daemon.streams.wait(for: 1)
        try await self.daemon.stop()
        #expect(download.state == .downloading)
        try await self.daemon.start()
        await self.daemon.streams.wait(for: 2)
        self.finish(gid, "a")
        await self.watcher.waitForFinish(of: download)
        #expect(self.watcher.log.states[download.id] == [.finished])
        #expect(self.daemon.added == [gid])
        #expect(list.downloads.isEmpty)
    }

    @Test("a download that the daemon has lost restarts, and never fails by that")
    func lost() async throws {
        try await self.daemon.start()
        let list = try self.open()
        let (download, gid) = try await self.add("a", to: list)
        await self.daemon.streams.wait(for: 1)
        self.loseState()
        self.daemon.dropConnections()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 2 }
        let again = self.daemon.added[1]
        #expect(again != gid)
        self.finish(again, "a")
        await self.watcher.waitForFinish(of: download)
        #expect(self.watcher.log.states[download.id] == [.finished])
        #expect(list.finishedDownloads == [download])
    }

    @Test("if the session cannot continue its downloads are interrupted, not failed, and found at the next opening")
    func refused() async throws {
        try await self.daemon.start()
        var list = try self.open()
        let (download, gid) = try await self.add("a", to: list)
        await self.daemon.streams.wait(for: 1)
        self.daemon.script { call, _ in
            call.method == "martlet.openSession" ? .refusal("badParameter", "not like this") : nil
        }
        self.daemon.dropConnections()
        await self.watcher.wait(for: .suspended, of: download)
        #expect(download.isInterrupted)
        #expect(download.error?.message == "not like this")
        await list.close()
        #expect(try self.text().contains("\"downloading\""))
        self.daemon.script { _, _ in nil }
        list = try self.open()
        self.finish(gid, "a")
        await self.watcher.waitForFinish(of: download)
        #expect(self.daemon.added == [gid])
        #expect(list.finishedDownloads == [download])
    }

    @Test("an earlier run that the daemon still believes to be there is waited for")
    func patience() async throws {
        try await self.daemon.start()
        self.daemon.script { call, count in
            call.method == "martlet.openSession" && count < 2 ? .refusal("sessionInUse", "an earlier run") : nil
        }
        let list = try self.open()
        let (download, _) = try await self.add("a", to: list)
        #expect(list.downloads == [download])
        #expect(download.state == .downloading)
    }

    // MARK: What the owner decides

    @Test("suspending and resuming pause the task in the daemon, stopping and removing end it")
    func control() async throws {
        try await self.daemon.start()
        let list = try self.open()
        let (download, gid) = try await self.add("a", to: list)
        try download.suspend()
        #expect(await self.wait(for: "martlet.pause")?["ids"] == [.string(gid)])
        #expect(download.state == .suspended)
        try download.resume()
        #expect(await self.wait(for: "martlet.resume")?["ids"] == [.string(gid)])
        try download.stop()
        #expect(await self.wait(for: "martlet.remove")?["deletePartial"] == true)
        // A restarted download waits until the old one has ended.
        try download.resume()
        self.daemon.emit(["kind": "removed", "id": .string(gid)])
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 2 }
        #expect(download.state == .downloading)
        let again = self.daemon.added[1]
        try download.remove()
        #expect(await self.wait(for: "martlet.remove", 2)?["ids"] == [.string(again)])
        #expect(list.downloads.isEmpty)
        #expect(self.watcher.log.states[download.id]?.contains(.failed) == false)
    }

    @Test("all are suspended, resumed and stopped as one is")
    func all() async throws {
        try await self.daemon.start()
        let list = try self.open()
        let (_, first) = try await self.add("a", to: list)
        let (_, second) = try await self.add("b", to: list)
        func ids(_ method: String) async -> Set<String> {
            _ = await self.wait(for: method, 2)
            return Set(
                self.daemon.calls.entries.filter { $0.method == method }
                    .compactMap { $0.parameters["ids"]?[0]?.string }
            )
        }
        try list.suspendAll()
        #expect(await ids("martlet.pause") == [first, second])
        try list.resumeAll()
        #expect(await ids("martlet.resume") == [first, second])
        try list.stopAll()
        #expect(await ids("martlet.remove") == [first, second])
        #expect(list.downloads.map(\.state) == [.stopped, .stopped])
    }

    @Test("closing says to the daemon what was decided before it returns, and a second opening is refused")
    func closing() async throws {
        try await self.daemon.start()
        let list = try self.open()
        #expect(await code { try self.open() } == .listInUse)
        let download = try list.add("http://example.com/a")
        await list.close()
        #expect(self.daemon.added.count == 1)
        #expect(self.daemon.calls.entries.last?.method == "martlet.closeSession")
        #expect(await code { try download.suspend() } == .invalidated)
        let again = try self.open()
        #expect(again.downloads == [download])
    }
}

extension OfflineDownload {
    /// Goes on with the same download, as another opening of its list has it.
    fileprivate func resumeIn(_ list: OfflineDownloads) throws { try list.download(id: self.id)?.resume() }
}

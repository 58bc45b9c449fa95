// SPDX-License-Identifier: Apache-2.0
// A list of downloads for people: added, paused, resumed and stopped by keys, one or all, with rates and sizes. It survives a
// kill; with --background a daemon continues it meanwhile. To try it by hand:
//
//     ./martlet example offline-list --program DIRECTORY [--background] URL…

import Foundation
import Martlet

/// The screen: prints the downloads' states, rates and sizes.
@MainActor
final class DownloadScreen: @preconcurrency OfflineDownloads.Observer {
    private var printed: [String: Date] = [:]

    func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {
        let reason = download.error.map { ": \($0)" } ?? ""
        print("\(download.name) \(state), \(download.receivedText()) are here\(reason)")
    }

    func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?) {
        let now = Date.now
        guard now.timeIntervalSince(self.printed[download.id] ?? .distantPast) > 0.4 else { return }
        self.printed[download.id] = now
        let percent = download.fraction.map { "\(Int($0 * 100)) %" } ?? "?"
        let size = download.expectedText() ?? "?"
        print("\(download.name) \(percent), \(ByteCount.compact(total)) of \(size), \(download.rateText())")
    }

    func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) {
        print("\(download.name) is complete: \(download.path), \(download.receivedText())")
    }
}

/// A row of the screen that shows one download, as long as it is visible.
@MainActor
final class DownloadRow: @preconcurrency OfflineDownload.Observer {
    let name: String

    init(_ download: OfflineDownload) {
        self.name = download.name
        download.addObserver(self, on: .main)
    }

    func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {
        print("row of \(download.name): \(state)")
    }
}

enum OfflineList {
    static let help = "1-9 choose; p pause, r resume, s stop; P R S all; a add the next, v hide the row, q quit"

    /// The program: a list in a directory, controlled by keys.
    @MainActor
    static func program(_ words: [String]) async throws {
        let urls = words.dropFirst().filter { $0 != "--background" }
        guard let directory = words.first, !directory.hasPrefix("-") else {
            throw Stage.Failure("usage: offline-list --program DIRECTORY [--background] URL…")
        }
        var configuration = SessionConfiguration.default
        if words.contains("--background") { configuration = .background(identifier: "example.offline-list") }
        configuration.rateLimit = 8_000_000
        let screen = DownloadScreen()
        let list = try OfflineDownloads(
            list: directory + "/list.json",
            directory: directory,
            configuration: configuration,
            observer: screen,
            on: .main
        )
        for download in list.downloads + list.finishedDownloads {
            let state = download.isInterrupted ? "interrupted" : "\(download.state)"
            print("\(download.name) was \(state), \(download.receivedText()) are here")
        }
        // New ones: all but those that the list already has, and one for the key.
        let known = Set((list.downloads + list.finishedDownloads).map { "\($0.url)" })
        var later = urls.filter { !known.contains($0) }
        if known.isEmpty, later.count > 1 { try list.add(contentsOf: [later.removeFirst(), later.removeFirst()]) }
        var rows = list.downloads.first.map { [DownloadRow($0)] } ?? []
        print(self.help)
        var chosen = 0
        for await key in Keys.typed() {
            let all = list.downloads + list.finishedDownloads
            let download = all.indices.contains(chosen) ? all[chosen] : nil
            switch key {
            case "1"..."9": chosen = (key.wholeNumberValue ?? 1) - 1
            case "p": try download?.suspend()
            case "r": try download?.resume()
            case "s": try download?.stop()
            case "P": try list.suspendAll()
            case "R": try list.resumeAll()
            case "S": try list.stopAll()
            case "a": if !later.isEmpty { print("added \(try list.add(later.removeFirst()).name)") }
            case "v":
                print("hidden: the row of \(rows.popLast()?.name ?? "none")")
            case "l": print("all: \(list.downloads.count) downloads, \(list.rateText())")
            case "q": return await list.close()
            default: print(self.help)
            }
        }
    }

    /// The example.
    @MainActor
    static func run(_ stage: Stage) async throws -> String {
        let names = ["one.bin", "two.bin", "three.bin"]
        for name in names { try stage.write("www/\(name)", randomBytes: 6 << 20) }
        let server = try await stage.serve("www")
        let urls = names.map { "\(server)/\($0)" }
        try await self.foreground(stage, names, urls)
        try await self.background(stage, names, urls)
        return "equal digests of \(names.count) files, twice"
    }

    @MainActor
    private static func foreground(_ stage: Stage, _ names: [String], _ urls: [String]) async throws {
        stage.say("a list of two downloads; a third is added with the key a")
        try stage.write("list/.keep", [])
        let words = [stage.directory + "/list"] + urls
        let program = try stage.program(words, as: "list")
        try await program.line { $0.hasPrefix("1-9") }
        program.type("a")
        try await program.line { $0.hasPrefix("added three.bin") }
        stage.say("1 p: the first is paused, and keeps its bytes; 1 r: it continues")
        try await program.line { $0.hasPrefix("one.bin") && $0.contains("%") }
        program.type("1p")
        let paused = try await program.line { $0.hasPrefix("one.bin suspended") }
        try stage.check(!paused.contains(" 0B"), "the paused download has bytes")
        program.type("r")
        try await program.line { $0.hasPrefix("one.bin downloading") }
        stage.say("2 s: the second is stopped, and its bytes are deleted; 2 r: it starts again")
        program.type("2s")
        try await program.line { $0.hasPrefix("two.bin stopped") }
        program.type("r")
        try await program.line { $0.hasPrefix("two.bin downloading, 0B") }
        stage.say("v: the row is hidden, and observes no more")
        program.type("v")
        try await program.line { $0 == "hidden: the row of one.bin" }
        let shown = program.lines.count
        stage.say("P: all are paused; R: all continue")
        program.type("P")
        for _ in names { try await program.line { $0.contains(" suspended") } }
        program.type("R")
        for _ in names { try await program.line { $0.contains(" downloading") } }
        try await program.line { $0.contains(" 5") && $0.contains("%") }
        await program.kill()
        let rows = program.lines.filter { $0.hasPrefix("row of one.bin") }
        let later = program.lines.dropFirst(shown).filter { $0.hasPrefix("row of") }
        try stage.check(
            rows.count >= 2 && later.isEmpty,
            "the row had \(rows.count) calls, and none after it was hidden"
        )

        stage.say("kill -9; the program starts again, and the list is there")
        let again = try stage.program(words, as: "list")
        try await again.line { $0.hasPrefix("1-9") }
        let interrupted = again.lines.filter { $0.contains(" was interrupted") && !$0.contains(" 0B") }
        try stage.check(!interrupted.isEmpty, "\(interrupted.count) were interrupted, and have their bytes")
        again.type("R")
        try await self.complete(stage, "list", names) {
            try await again.line { $0.contains(" is complete") }
        }
        again.type("q")
        try stage.check(await again.ended() == 0, "the key q ends the program")
    }

    @MainActor
    private static func background(_ stage: Stage, _ names: [String], _ urls: [String]) async throws {
        stage.say("the same in the background; kill -9, and the daemon continues")
        try stage.write("list2/.keep", [])
        let words = [stage.directory + "/list2", "--background"] + urls
        let program = try stage.program(words, as: "background")
        try await program.line { $0.hasPrefix("1-9") }
        program.type("a")
        try await program.line { $0.hasPrefix("three.bin") && $0.contains("%") }
        await program.kill()
        stage.say("killed; nobody runs but the daemon")
        try await self.complete(stage, "list2", names) {
            try await Task.sleep(for: .milliseconds(20))
        }
        let again = try stage.program(words, as: "background")
        for _ in names { try await again.line { $0.contains(" is complete") || $0.contains(" was finished") } }
        again.type("q")
        try stage.check(await again.ended() == 0, "the program learned all \(names.count) ends when it started again")
    }

    /// Waits for all files, and compares them with the server's.
    @MainActor
    private static func complete(
        _ stage: Stage,
        _ folder: String,
        _ names: [String],
        _ wait: () async throws -> Void
    ) async throws {
        let paths = names.map { "\(stage.directory)/\(folder)/\($0)" }
        while !paths.allSatisfy({ FileManager.default.fileExists(atPath: $0) }) { try await wait() }
        for name in names { try stage.checkEqual("\(folder)/\(name)", "www/\(name)") }
    }
}

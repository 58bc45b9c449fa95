// SPDX-License-Identifier: Apache-2.0
// A program leaves a download to the daemon and exits at once. The daemon finishes it, posts a desktop notification, and wakes
// the program by its wake command; the program takes the picture, and calls the completion handler.

import Foundation
import Martlet

/// Receives the session's events in the woken program, and writes down what happened and when.
@MainActor
final class Woken: @preconcurrency TransferDelegate {
    /// Whether everything that happened before was told.
    private(set) var isComplete = false
    private let journal: String

    init(journal: String) { self.journal = journal }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        switch result {
        case .success(let file): self.write("the picture has come: \(file.path)")
        case .failure(let error): self.write("no picture: \(error)")
        }
    }

    func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
        // The results are stored; the daemon need not tell them again.
        self.write("the completion handler is called")
        completion()
        self.isComplete = true
    }

    /// Appends a line to the program's journal.
    func write(_ line: String) {
        let file = FileHandle(forWritingAtPath: self.journal)
        file?.seekToEndOfFile()
        file?.write(Data((line + "\n").utf8))
        try? file?.close()
    }
}

enum BackgroundImage {
    /// The session, the same in each run: by its identifier the program finds it again.
    static func configuration(_ directory: String) -> SessionConfiguration {
        var configuration = SessionConfiguration.background(identifier: "example.background-image")
        configuration.rateLimit = 1_000_000
        configuration.wakeCommand = [Stage.executable, "background-image", "--program", "woken", directory]
        configuration.notifications = [.finished, .failed]
        return configuration
    }

    /// The program: `leave DIRECTORY URL` starts the download and exits; `woken DIRECTORY` is the wake command.
    @MainActor
    static func program(_ words: [String]) async throws {
        let directory = words.dropFirst().first ?? "."
        switch (words.first, words.count) {
        case ("leave", 3):
            let session = try TransferSession(configuration: self.configuration(directory))
            let task = try session.downloadTask(for: words[2], to: .file(directory + "/swift.png"))
            task.persistentInfo = "the picture"
            task.resume()
            print("resumed; this program exits now")
        case ("woken", 2):
            let woken = Woken(journal: directory + "/journal")
            let name = ProcessInfo.processInfo.environment["MARTLET_SESSION"] ?? "no session"
            woken.write("the program was woken for \(name)")
            let session = try await TransferSession.open(self.configuration(directory), delegate: woken, on: .main)
            while !woken.isComplete { try await Task.sleep(for: .milliseconds(10)) }
            woken.write("the session has \(await session.tasks().download.count) tasks left")
            await session.close()
            woken.write("the program exits")
        default: throw Stage.Failure("usage: background-image --program leave DIRECTORY URL | woken DIRECTORY")
        }
    }

    /// The example.
    @MainActor
    static func run(_ stage: Stage) async throws -> String {
        let picture = Drawing.png(4, width: 800, height: 600)
        try stage.write("www/swift.png", picture)
        let journal = try stage.write("gallery/journal", [])
        let server = try await stage.serve("www")
        let desktop = try stage.desktop()
        let directory = stage.directory + "/gallery"

        stage.say("the program starts a download of \(ByteCount.compact(Int64(picture.count))), and exits")
        let program = try stage.program(["leave", directory, "\(server)/swift.png"], as: "program")
        let status = await program.ended()
        try stage.check(status == 0, "the program has ended")
        try stage.check(!FileManager.default.fileExists(atPath: directory + "/swift.png"), "no picture is there yet")

        stage.say("the daemon continues; nobody else runs")
        try await stage.untilExists(directory + "/swift.png")
        let end = "the program exits"
        while case let lines = try self.lines(journal), lines.last != end {
            try await Task.sleep(for: .milliseconds(20))
        }
        for line in try self.lines(journal) { stage.say("journal: \(line)") }
        let notification = await desktop.notification()
        stage.say("notification: \(notification)")

        try stage.check(
            try Data(contentsOf: URL(filePath: directory + "/swift.png")) == Data(picture),
            "the picture is the server's"
        )
        // Whoever is not woken again now, will not be: the daemon looks every second.
        try await Task.sleep(for: .seconds(2.5))
        try stage.check(
            try self.lines(journal) == [
                "the program was woken for example.background-image", "the picture has come: \(directory)/swift.png",
                "the completion handler is called", "the session has 0 tasks left", end,
            ],
            "woken once, told once, completed once, in this order"
        )
        return "exit, download, notification, woken, completed, in this order"
    }

    private static func lines(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}

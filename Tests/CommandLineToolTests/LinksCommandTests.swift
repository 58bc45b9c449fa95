// SPDX-License-Identifier: Apache-2.0
import Platform
import Receiver
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import CommandLineTool

@Suite("Links on the command line")
struct LinksCommandTests {
    private func environment(_ directory: TemporaryDirectory) -> (String) -> String? {
        let state = directory.path("state")
        return { name in name == "MARTLET_STATE_DIR" ? state : nil }
    }

    @Test("are stored per directory, however its path is written, or per address")
    func places() throws {
        let directory = try TemporaryDirectory()
        let environment = self.environment(directory)
        #expect(mkdir(directory.path("d"), 0o700) == 0 && symlink("d", directory.path("e")) == 0)
        func place(_ arguments: String...) throws -> String? {
            ServeLinks.place(try ServeCommand.plan(arguments).configuration, environment: environment).path
        }
        let first = try #require(try place(directory.path("d")))
        #expect(first.hasPrefix(directory.path("state/links/")))
        #expect(TemporaryDirectory.permissions(of: directory.path("state/links")) == 0o700)
        #expect(try place(directory.path("d/../e/"), "--listen", "81") == first)
        #expect(try place(directory.path) != first)
        let address = try #require(try place("--share", "f", "--listen", "81"))
        #expect(address != first)
        #expect(try place("--share", "g", "--listen", "81") == address)
        #expect(try place("--share", "g", "--listen", "82") != address)
        // The next run has another port.
        #expect(try place("--share", "f", "--listen", "0") == nil)
    }

    @Test("end with the run if nothing can be stored, which is reported if any are wanted")
    func unwritable() throws {
        let directory = try TemporaryDirectory()
        try directory.write([1], to: "state")
        for (arguments, count) in [
            (["--share", "f"], 1), ([directory.path], 0), ([directory.path, "--share-uploads"], 1),
        ] {
            let configuration = try ServeCommand.plan(arguments).configuration
            let place = ServeLinks.place(configuration, environment: self.environment(directory))
            #expect(place.path == nil && place.warnings.count == count, "\(arguments)")
        }
    }

    @Test("are listed and removed, also those of a receiver that runs")
    func listed() async throws {
        let directory = try TemporaryDirectory()
        try directory.write([1], to: "f")
        let environment = self.environment(directory)
        var configuration = ReceiverConfiguration(directory: directory.path)
        configuration.listen.port = 0
        configuration.takesUploads = false
        configuration.shares = [ShareOffer(path: directory.path("f"), downloads: 3)]
        configuration.linkStore = ServeLinks.place(configuration, environment: environment).path
        let receiver = try await Receiver.start(configuration)
        let link = try #require(receiver.sharePaths.first)
        let items = try StoredLinks.list(in: directory.path("state/links"))
        #expect(items.map(\.link) == [link])
        #expect(LinksCommand.line(items[0]) == "\(link)\t\(directory.path("f"))\t0 of 3 downloads\tno expiry")
        var command = LinksCommand()
        command.remove = [link]
        #expect(command.execute(environment: environment) == ExitStatus.success)
        #expect(try StoredLinks.list(in: directory.path("state/links")).map(\.end) == ["removed"])
        command.remove = ["http://h/.martlet-share/0123/f"]
        #expect(command.execute(environment: environment) == ExitStatus.usage)
        await receiver.stop()
    }

    @Test("for uploads are printed by put, without control characters, and in its events")
    func put() {
        var completion = TransferCompletion(path: "a", bytes: 1, received: 0, duration: .seconds(1))
        completion.sent = 1
        completion.status = 201
        let event = { (completion: TransferCompletion) in
            EventMailbox.Report(
                event: TransferEvent(id: nil, url: "http://h/a", userInfo: nil, kind: .finished(completion)),
                name: "a",
                path: "a"
            )
        }
        #expect(ReportText().line(event(completion))?.contains("link") == false)
        #expect(JSONEvents.line(event(completion))?.contains("link") == false)
        completion.link = "http://h/.martlet-share/0/a\u{1B}[2J"
        let lines = ReportText().line(event(completion))?.split(separator: "\n") ?? []
        #expect(lines.last?.hasPrefix("link: http://h/.martlet-share/0/a") ?? false)
        #expect(lines.count == 2 && !lines[1].contains("\u{1B}"))
        #expect(JSONEvents.line(event(completion))?.contains(#""link":"http://h/.martlet-share/0/a"#) ?? false)
    }
}

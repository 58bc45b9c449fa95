// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import Files
import Testing
import TransferCore
import TransferTesting

@testable import CommandLineTool

@Suite("The daemon's options are remembered")
struct DaemonRememberingTests {
    private let temporary: TemporaryDirectory
    private let state: StateDirectory

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.state = try StateDirectory(self.temporary.path("state"))
        try self.state.make()
    }

    private func command(_ words: String...) throws -> DaemonCommand {
        try self.parse(words + ["--state-dir", self.state.path])
    }

    private func parse(_ words: [String]) throws -> DaemonCommand {
        try #require(try QueueRun.command(["daemon"] + words) as? DaemonCommand)
    }

    private func store(_ options: RememberedOptions) throws {
        let json: JSON = [
            "version": 1, "arguments": .array(options.arguments.map { .string($0) }),
            "hadToken": .bool(options.hadToken),
        ]
        try AtomicFile.replace(self.state.optionsPath, with: Array(json.text.utf8))
    }

    @Test("A start with options replaces all of them, one without uses them")
    func starts() throws {
        try self.store(RememberedOptions(["--listen=0.0.0.0:1", "--deny-private-addresses"]))
        let given = try self.command("--dir", self.temporary.path, "-j", "3", "--on-finish", "echo done")
        let first = try given.startSettings(self.state)
        let options = try #require(first.optionsToRemember)
        #expect(options.arguments == given.arguments && !options.hadToken && first.rememberedOptions == nil)
        #expect(first.deniedAddresses == .metadata)
        try self.store(options)
        let later = try self.command("--detached").startSettings(self.state)
        #expect(later.rememberedOptions == options && later.optionsToRemember == nil && later.isDetached)
        #expect(later.directory == first.directory && later.options == first.options && later.hooks == first.hooks)
        #expect(later.state == first.state)
    }

    @Test("A token is never stored: only that there was one")
    func tokens() throws {
        for words in [["--rpc-secret", "geheim"], ["--rpc-secret=geheim"], ["--rpc-secret-fd", "9"]] {
            let command = try self.parse(words)
            let options = try #require(try command.startSettings(self.state).optionsToRemember)
            #expect(options.arguments.isEmpty && options.hadToken && !options.isEmpty)
        }
        let file = try self.command("--rpc-secret-file", "/f").startSettings(self.state).optionsToRemember
        #expect(file == RememberedOptions(["--rpc-secret-file=/f"]))
    }

    @Test("Every option of the daemon's work is among the remembered ones")
    func complete() throws {
        let tool = try ManualPage.tool()
        let daemon = try #require(tool.subcommands?.first { $0.commandName == "daemon" })
        let notRemembered = [
            "state-dir", "detach", "detached", "show-options", "forget-options", "rpc-secret", "rpc-secret-fd", "help",
            "version",
        ]
        let values = [
            "listen": "none", "notify": "done", "log-level": "debug", "allow-addresses": "10.0.0.0/8",
            "rpc-allow-origin": "https://h",
        ]
        var count = 0
        for argument in daemon.arguments ?? [] {
            guard let name = argument.names?.first(where: { $0.kind == "long" })?.name, !notRemembered.contains(name)
            else { continue }
            count += 1
            let word = "--\(name)" + (argument.kind == "flag" ? "" : "=\(values[name] ?? "1")")
            let arguments = try self.parse([word]).arguments
            #expect(arguments.count == 1 && arguments[0].hasPrefix("--\(name)"), "\(name)")
            #expect(try self.parse(arguments).arguments == arguments, "\(name)")
        }
        #expect(count >= 20)
    }

    @Test(
        "Remembered options that are invalid name the file and how to forget them",
        arguments: [["--unknown=1"], ["--listen=x y"], ["--max-concurrent-downloads=0"], ["--rpc-allow-origin=x"]]
    )
    func invalid(arguments: [String]) async throws {
        try self.store(RememberedOptions(arguments))
        let result = try await commandResult(["daemon", "--detached", "--state-dir", self.state.path])
        #expect(result.status == 28)
        #expect(result.errors.contains(self.state.optionsPath) && result.errors.contains("--forget-options"))
    }

    @Test("They are shown as a command line, and forgotten")
    func showing() async throws {
        func run(_ word: String) async throws -> (status: Int32, output: String, errors: String) {
            try await commandResult(["daemon", word, "--state-dir", self.state.path])
        }
        let none = try await run("--show-options")
        #expect(none.status == 0 && none.output == "" && none.errors.contains("no options are remembered"))
        try self.store(RememberedOptions(["--dir=/a b", "--listen=none"], hadToken: true))
        let shown = try await run("--show-options")
        #expect(shown.output == "martlet daemon --state-dir \(self.state.path) '--dir=/a b' --listen=none\n")
        #expect(shown.errors.contains("the token of the last start is not remembered"))
        #expect(try await run("--forget-options").output == "forgotten\n")
        #expect(try await run("--forget-options").output == "no options are remembered\n")
        try self.temporary.write([0x7B], to: "state/daemon-options.json")
        #expect(try await run("--show-options").status == 28)
        #expect(try await run("--forget-options").status == 0)
        let both = try await commandResult(["daemon", "--show-options", "--forget-options"])
        #expect(both.status == 28)
        #expect(try await commandResult(["daemon", "--show-options", "--listen", "none"]).status == 28)
    }

    @Test("What a client says about the daemon that it has started")
    func messages() throws {
        let daemon: JSON = ["pid": 17, "listen": "0.0.0.0:6800"]
        let line = DaemonStart.line(daemon, self.state)
        #expect(line.contains("process 17") && line.contains(self.state.socketPath) && line.contains("0.0.0.0:6800"))
        #expect(line.hasSuffix("martlet stop --state-dir \(self.state.path) stops it"))
        #expect(DaemonStart.warnings(["pid": 17, "listen": "127.0.0.1:6800"], self.state, remembers: true).isEmpty)
        try self.store(RememberedOptions(["--listen=0.0.0.0:6800"], hadToken: true))
        let warnings = DaemonStart.warnings(daemon, self.state, remembers: true)
        #expect(warnings.count == 3 && warnings[0].contains("--show-options") && warnings[1].contains("token"))
        #expect(warnings[2] == "martlet: other machines can reach it on 0.0.0.0:6800")
        #expect(DaemonStart.warnings(daemon, self.state, remembers: false).count == 1)
    }

    @Test("Origins are checked, and all of them are not combined with notifications that need no token")
    func origins() async throws {
        for origin in ["x", "https://", "*.example.org", "http://*.h", ""] {
            let result = try await commandResult(["daemon", "--detach", "--rpc-allow-origin", origin])
            #expect(result.status == 28 && result.errors.contains("is not an origin"), "\(origin)")
        }
        let result = try await commandResult(["daemon", "--rpc-allow-origin", "*", "--insecure-notifications"])
        #expect(result.status == 28 && result.errors.contains("cannot be used together"))
    }

    @Test("add prints the id alone into a pipe, and the path on a terminal")
    func adding() async throws {
        let daemon = try await FakeDaemon.start()
        let command = try #require(
            try QueueRun.command(
                ["add", "http://h/x/a%20b.iso?k=secret", "--id", "00000000000000ab"]
                    + ["--state-dir", daemon.state.path]
            )
        )
        let pipe = Console(keeping: ())
        #expect(await QueueRun.status(of: command, pipe) == 0)
        #expect(pipe.text.output == "00000000000000ab\n" && pipe.text.errors == "")
        daemon.forgetAll()
        let terminal = Console(keeping: (), isOutputTerminal: true)
        #expect(await QueueRun.status(of: command, terminal) == 0)
        #expect(terminal.text.output == "00000000000000ab  /d/a b.iso\n")
        // Stored is stored: without the details, the id alone.
        daemon.answer("martlet.show", .failure(ControlError(.stopping, "it stops")))
        let late = Console(keeping: (), isOutputTerminal: true)
        #expect(await QueueRun.status(of: command, late) == 0)
        #expect(late.text.output == "00000000000000ab\n")
    }
}

// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Platform
import NIOPosix
import Testing
import TransferTesting

@testable import Control

/// The daemon is a script here: what is tested is how it is found, started and waited for.
///
/// One test after the other: a process that another one starts meanwhile has, until it runs its program, a copy of the
/// descriptor of a script that is being written, and an open file cannot be executed (ETXTBSY).
@Suite(.serialized, .timeLimit(.minutes(1))) struct DaemonLauncherTests {
    private let temporary: TemporaryDirectory
    private let state: StateDirectory

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.state = try StateDirectory(self.temporary.path + "/state")
    }

    private func program(_ name: String, _ script: String) throws -> String {
        try self.temporary.write(Array("#!/bin/sh\n\(script)\n".utf8), to: name)
        let path = self.temporary.path(name)
        #expect(chmod(path, 0o700) == 0)
        return path
    }

    private var client: ControlClient { ControlClient(self.state, on: MultiThreadedEventLoopGroup.singleton.next()) }

    @Test func aDaemonThatDiesIsToldWithTheEndOfItsLog() async throws {
        try self.state.make()
        try self.temporary.write(Array("old line\n".utf8), to: "state/martletd.log")
        let program = try self.program("martletd", "echo cannot open the database >&2; exit 3")
        let launcher = DaemonLauncher(executable: program)
        let error = await #expect(throws: ControlError.self) { try await launcher.start(self.client) }
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("status 3") == true)
        #expect(error?.message.contains("cannot open the database") == true)
        #expect(error?.message.contains("old line") == false)
    }

    @Test func oneThatDoesNotAnswerIsGivenUp() async throws {
        var launcher = DaemonLauncher(executable: try self.program("martletd", "exit 0"))
        launcher.patience = .milliseconds(100)
        let error = await #expect(throws: ControlError.self) { try await launcher.start(self.client) }
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("does not answer") == true)
    }

    @Test func aProgramThatIsNotThereIsAnError() async throws {
        let launcher = DaemonLauncher(executable: self.temporary.path("missing"))
        let error = await #expect(throws: ControlError.self) { try await launcher.start(self.client) }
        #expect(error?.code == .notInstalled)
    }

    @Test func whereOneAnswersNoneIsStarted() async throws {
        let daemon = try await ScriptedDaemon.answering { _, _ in .success(["protocol": 1, "version": "1"]) }
        let client = ControlClient(daemon.state, on: MultiThreadedEventLoopGroup.singleton.next())
        let launcher = DaemonLauncher(executable: self.temporary.path("missing"))
        #expect(try await launcher.startIfNeeded(client) == false)
    }

    @Test func itIsStartedInASessionOfItsOwnWithNothingButItsArgumentsAndItsSecret() async throws {
        // The loser of two that start at once ends with 0; the other's socket answers.
        let daemon = try await ScriptedDaemon.start { request in
            request.requestIndex == 0
                ? .response(503) : .response(200, text: #"{"id":1,"result":{"protocol":1,"version":"1"}}"#)
        }
        let inherited = open("/dev/null", O_RDONLY)
        defer { close(inherited) }
        let report = daemon.temporary.path("report")
        // What the shell starts is looked at: the shell itself has, for a moment, both ends of every pipe, and blocks all
        // signals while it forks.
        let program = try self.program(
            "martletd",
            """
            { echo "$@"; read secret <&3; echo "secret $secret"; ls /proc/self/fd | tr '\\n' ' '; echo; \
            cut -d' ' -f5,6 /proc/$$/stat; echo $$; grep SigBlk /proc/self/status; } > \(report).part
            mv \(report).part \(report)
            exit 0
            """
        )
        var launcher = DaemonLauncher(executable: program, arguments: ["--dir", "/a b"])
        launcher.secret = "hush"
        let client = ControlClient(daemon.state, on: MultiThreadedEventLoopGroup.singleton.next())
        #expect(try await launcher.startIfNeeded(client))
        while !daemon.temporary.contains("report") { await Task.yield() }
        let lines = String(decoding: try daemon.temporary.read("report"), as: UTF8.self)
            .split(separator: "\n").map(String.init)
        try #require(lines.count == 6)
        #expect(lines[0] == "--state-dir \(daemon.state.path) --detached --dir /a b --rpc-secret-fd 3")
        #expect(lines[1] == "secret hush")
        // The last one is the one that `ls` reads the directory by.
        #expect(lines[2].split(separator: " ") == ["0", "1", "2", "3", "4"])
        // Process group and session are its own.
        #expect(lines[3] == "\(lines[4]) \(lines[4])")
        #expect(lines[5].hasSuffix("0000000000000000"))
        #expect(!lines[0].contains("hush"))
    }

    @Test func theProgramIsFoundByNameBesideOrOnPath() throws {
        let program = try self.program("martletd", "exit 0")
        let beside = self.temporary.path("a.out")
        #expect(try DaemonExecutable.find(environment: { _ in nil }, beside: beside) == program)
        #expect(
            try DaemonExecutable.find(
                environment: { $0 == "PATH" ? "relative:/no:\(self.temporary.path)" : nil },
                beside: nil
            ) == program
        )
        let other = try self.program("other", "exit 0")
        #expect(
            try DaemonExecutable.find(environment: { $0 == "MARTLET_DAEMON" ? other : nil }, beside: beside) == other
        )
        for environment in [["MARTLET_DAEMON": "/no/martletd"], ["PATH": "."], [:]] {
            let error = #expect(throws: ControlError.self) {
                try DaemonExecutable.find(environment: { environment[$0] }, beside: nil)
            }
            #expect(error?.code == .notInstalled)
        }
        #expect(DaemonExecutable.own() != nil)
        // The executable itself is preferred to a link or an older separate daemon.
        let martlet = try self.program("martlet", "exit 0")
        #expect(try DaemonExecutable.find(environment: { _ in nil }, beside: beside) == martlet)
    }

    @Test func onlyTheNameMartletNeedsTheSubcommand() {
        #expect(DaemonExecutable.words("/usr/bin/martlet") == ["/usr/bin/martlet", "daemon"])
        #expect(DaemonExecutable.words("/usr/bin/martletd") == ["/usr/bin/martletd"])
        #expect(DaemonExecutable.words("/opt/wrapper") == ["/opt/wrapper"])
    }
}

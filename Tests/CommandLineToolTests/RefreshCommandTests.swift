// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import CommandLineTool

@Suite(.timeLimit(.minutes(1))) struct RefreshCommandTests {
    private let url: HTTPURL

    init() throws { self.url = try HTTPURL("http://me:hush@host/a.bin?token=s3cret") }

    private func failure(
        _ command: String,
        status: Int = 403,
        timeout: Duration = .seconds(30)
    ) -> TransferFailure? {
        do throws(TransferFailure) {
            let url = try RefreshCommand(command, timeout: timeout).freshURL(for: self.url, status: status)
            Issue.record("it gave \(url?.text ?? "none")")
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "echo http://host/b?token=1", "printf http://host/b?token=1", "printf 'http://host/b?token=1\\r\\nmore\\n'",
        "echo '  http://host/b?token=1  '; yes | head -c 60000", "echo http://host/b?token=1; sleep 20 2> /dev/null &",
    ])
    func theFirstLineIsTheURL(command: String) throws {
        #expect(
            try RefreshCommand(command).freshURL(for: self.url, status: 403) == HTTPURL("http://host/b?token=1")
        )
    }

    @Test(arguments: [401, 403, 410])
    func theCommandHasURLAndStatusInItsEnvironment(status: Int) throws {
        let command = #"echo "$MARTLET_URL&status=$MARTLET_STATUS""#
        let fresh = try RefreshCommand(command).freshURL(for: self.url, status: status)
        #expect(fresh?.text == "http://me:hush@host/a.bin?token=s3cret&status=\(status)")
    }

    @Test func theCommandReadsNothing() throws {
        let command = "cat; echo http://host/b"
        #expect(try RefreshCommand(command).freshURL(for: self.url, status: 403) == HTTPURL("http://host/b"))
    }

    @Test(arguments: [
        ("echo http://host/b; exit 22", "exited with status 22"), ("/nonexistent/program", "exited with status 127"),
        ("kill -9 $$", "ended by signal 9"), ("true", "printed no URL"), ("echo", "printed no URL"),
        ("echo '  '; echo http://host/b", "printed no URL"), ("printf '\\377\\376'", "not UTF-8"),
        ("echo ftp://host/s3cret", "other than an http"), ("echo /s3cret", "other than an http"),
        ("echo 'URL: http://host/s3cret'", "other than an http"),
        ("yes http://host/s3cret", "more than 65536 bytes"),
    ])
    func aCommandThatFailsSaysHowAndWhatToDo(command: String, message: String) throws {
        let failure = try #require(self.failure(command))
        #expect(failure.message.contains("403") && failure.message.contains(message), "\(failure.message)")
        #expect(!failure.remedy.isEmpty && !failure.isRetryable && failure.status == 403)
        // Neither the refused URL's secrets nor what the command printed.
        #expect(!failure.description.contains("s3cret") && !failure.description.contains("hush"))
    }

    @Test func theExitStatusIsTheRefusals() {
        #expect(self.failure("false", status: 401)?.code == .authentication)
        #expect(self.failure("false", status: 403)?.code == .badResponse)
        #expect(self.failure("false", status: 410)?.code == .notFound)
    }

    @Test func aCommandThatTakesTooLongIsKilled() throws {
        let failure = try #require(self.failure("sleep 1000", timeout: .milliseconds(100)))
        #expect(failure.message.contains("did not exit within") && failure.message.contains("killed"))
    }

    @Test func aStopEndsTheCommand() async throws {
        let directory = try TemporaryDirectory()
        let command = RefreshCommand("echo > '\(directory.path("started"))'; sleep 1000")
        let ended = Gate()
        try SystemThread.run {
            let url = try? HTTPURL("http://host/a")
            if let url { _ = try? command.freshURL(for: url, status: 403) }
            ended.open()
        }
        while !directory.contains("started") { await Task.yield() }
        command.stop()
        await ended.wait()
        #expect(throws: TransferFailure.self) { try command.freshURL(for: self.url, status: 403) }
    }

    @Test func theOptionReachesThePlan() throws {
        #expect(try plan("http://h/a").refreshCommand == nil)
        #expect(try plan("http://h/a", "--refresh-command", "sign --key k").refreshCommand == "sign --key k")
        #expect(try plan("-i", "list", "--refresh-command=./fresh").refreshCommand == "./fresh")
        for empty in ["", "  "] {
            let (status, _, errors) = CommandLineTool.run(["get", "http://h/a", "--refresh-command", empty])
            #expect(status == 28 && errors.contains("--refresh-command is empty"))
        }
    }

    @Test func helpAndManualSayWhatTheCommandGets() throws {
        let help = CommandLineTool.run(["get", "--help"]).output
        #expect(help.contains("--refresh-command <command>") && help.contains("MARTLET_URL"))
        let page = try ManualPage.current()
        #expect(page.contains("\\-\\-refresh\\-command") && page.contains(".B MARTLET_STATUS"))
    }
}

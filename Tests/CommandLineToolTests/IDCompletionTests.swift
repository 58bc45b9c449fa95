// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import CommandLineTool

@Suite("Completion of ids", .timeLimit(.minutes(10)))
struct IDCompletionTests {
    @Test("A command's ids are of transfers on which it has an effect")
    func states() {
        for name in ["show", "wait", "pause", "resume", "retry", "remove", "forget", "move", "limit"] {
            #expect(MartletCommand.names.contains(name))
            #expect(!IDCompletion.states(of: ["martlet", name, ""]).isEmpty, "\(name)")
        }
        #expect(!IDCompletion.states(of: ["martlet", "pause"]).contains(.finished))
        #expect(IDCompletion.states(of: ["martlet", "forget"]) == [.failed, .finished, .removed])
    }

    @Test("The state directory is the one on the line")
    func stateDirectory() {
        #expect(IDCompletion.stateDirectory(in: ["martlet", "show", "--state-dir", "/a", ""]) == "/a")
        #expect(IDCompletion.stateDirectory(in: ["martlet", "show", "--state-dir=/b", ""]) == "/b")
        #expect(IDCompletion.stateDirectory(in: ["martlet", "show", "--state-dir"]) == nil)
    }

    @Test("The daemon is asked for the beginning, and given ids are left out")
    func candidates() async throws {
        let daemon = try await FakeDaemon.start()
        let ids = try ["a1", "a2"].map { try #require(GID("00000000000000" + $0)) }
        for id in ids {
            daemon.put(TransferRecord(id: id, state: .paused, urls: ["http://h/a"], directory: "/d", added: 1))
        }
        let words = ["martlet", "resume", "--state-dir", daemon.state.path, ids[0].description, "0"]
        let found = await onThread { IDCompletion.candidates(words, prefix: "0", within: 600) }
        #expect(found.map(\.id) == [ids[1]])
        let params = try #require(daemon.calls(of: "martlet.list").first)
        #expect(params["prefix"] == "0" && params["states"] == ["paused", "retrying", "held"])
        #expect(IDCompletion.candidates(words, prefix: "x y").isEmpty)
    }

    @Test("Without a daemon there are none, and nothing is started")
    func withoutDaemon() async throws {
        let temporary = try TemporaryDirectory()
        let words = ["martlet", "show", "--state-dir", temporary.path("state"), ""]
        let found = await onThread { IDCompletion.candidates(words, prefix: "") }
        #expect(found.isEmpty)
        #expect(!temporary.contains("state"))
    }

    @Test("Every argument that names transfers has it")
    func arguments() throws {
        for name in ["show", "wait", "pause", "resume", "retry", "remove", "forget", "move", "limit"] {
            let script = CommandLineTool.run(["--generate-completion-script", "bash"]).output
            #expect(script.contains("---completion \(name) -- positional@0"), "\(name)")
        }
    }
}

/// Runs work that blocks outside of Swift's pool.
private func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        do { try SystemThread.run { continuation.resume(returning: work()) } } catch { fatalError("\(error)") }
    }
}

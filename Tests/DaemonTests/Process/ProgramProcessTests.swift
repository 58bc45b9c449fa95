// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Testing

@testable import Daemon

/// Whether the program that has a session is still there.
@Suite
struct ProgramProcessTests {
    @Test("An instance names its process in front of a hyphen, or none")
    func names() {
        #expect(ProgramProcess(instance: "4711-abc")?.id == 4711)
        for instance in ["", "abc", "abc-4711", "-1", "0-a", "99999999999999999999-a", "4711"] {
            #expect(ProgramProcess(instance: instance) == nil, "\(instance)")
        }
    }

    @Test("One that runs is there; one that ended is gone, also while its end waits to be taken")
    func gone() throws {
        #expect(try #require(ProgramProcess(instance: "\(getpid())-x")).isGone == false)
        let child = try ChildProcess.start(["sh", "-c", "read line"], environment: [:])
        let process = try #require(ProgramProcess(instance: "\(child.id)-x"))
        #expect(!process.isGone)
        child.write([])
        var facts = siginfo_t()
        // Waits for its end without taking it.
        #expect(waitid(P_PID, id_t(child.id), &facts, WEXITED | WNOWAIT) == 0)
        #expect(process.isGone)
        #expect(child.wait() == .exited(1))
        #expect(process.isGone)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Testing
import TransferTesting

/// Other programs: what they inherit, and how much of their time and output is taken.
@Suite(.timeLimit(.minutes(1)))
struct ChildProcessTests {
    private static func shell(_ command: String, _ environment: [String: String] = [:]) throws -> ChildProcess {
        let child = try ChildProcess.start(["sh", "-c", command], environment: environment, capturesOutput: true)
        child.write([])
        return child
    }

    @Test("A missing program is an error, and the next ones run")
    func missing() throws {
        for captures in [false, true] {
            #expect(throws: ControlError.self) {
                try ChildProcess.start(["/nonexistent/program"], environment: [:], capturesOutput: captures)
            }
            #expect(throws: ControlError.self) {
                try ChildProcess.start([], environment: [:], capturesOutput: captures)
            }
        }
        let child = try ChildProcess.start(["sh", "-c", "read line; exit $line"], environment: [:])
        child.write(Array("7\n".utf8))
        #expect(child.wait() == .exited(7))
    }

    @Test("A child has no descriptor but its three", arguments: [false, true])
    func descriptors(captures: Bool) throws {
        let directory = try TemporaryDirectory()
        let child = try ChildProcess.start(
            ["sh", "-c", "ls /proc/self/fd > \(directory.path("fds"))"],
            environment: [:],
            capturesOutput: captures
        )
        child.write([])
        if captures {
            #expect(child.collect(atMost: 0, within: .seconds(30)) == .ended(.exited(0), output: []))
        } else {
            #expect(child.wait() == .exited(0))
        }
        // The fourth is the one that `ls` reads the directory by.
        #expect(try String(decoding: directory.read("fds"), as: UTF8.self) == "0\n1\n2\n3\n")
    }

    @Test("Its output is collected, up to a limit, with how it ended")
    func output() throws {
        let text = try Self.shell("printf '%s' \"$A\"; exit 3", ["A": "a b"]).collect(atMost: 3, within: .seconds(30))
        #expect(text == .ended(.exited(3), output: Array("a b".utf8)))
        let large = try Self.shell("head -c 300000 /dev/zero").collect(atMost: 300_000, within: .seconds(30))
        #expect(large == .ended(.exited(0), output: [UInt8](repeating: 0, count: 300_000)))
        #expect(try Self.shell("printf abcd").collect(atMost: 3, within: .seconds(30)) == .tooMuchOutput)
        #expect(try Self.shell("cat /dev/zero").collect(atMost: 1 << 16, within: .seconds(30)) == .tooMuchOutput)
        let killed = try Self.shell("kill -9 $$").collect(atMost: 3, within: .seconds(30))
        #expect(killed == .ended(.signalled(9), output: []))
    }

    @Test(
        "One that takes too long, or is cancelled, is killed with its group",
        arguments: ["sleep 1000", "exec >&-; sleep 1000", "trap '' TERM INT HUP; sleep 1000 & wait"]
    )
    func killed(command: String) throws {
        let child = try Self.shell(command)
        #expect(child.collect(atMost: 3, within: .milliseconds(50)) == .timedOut)
        try Self.waitForEnd(ofGroup: child.id)
        let other = try Self.shell(command)
        #expect(other.collect(atMost: 3, within: .seconds(30)) { true } == .cancelled)
        try Self.waitForEnd(ofGroup: other.id)
    }

    /// Waits until no process of a group runs; one that was killed may still be waiting for its parent.
    private static func waitForEnd(ofGroup group: Int32) throws {
        let end = ContinuousClock.now + .seconds(20)
        while true {
            let isRunning = TemporaryDirectory.entries(of: "/proc")
                .contains { name in
                    guard name.allSatisfy(\.isNumber), let text = Self.content("/proc/\(name)/stat") else {
                        return false
                    }
                    // Behind the name, which is in parentheses: state, parent, group.
                    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ").dropFirst()
                    return fields.first != "Z" && fields.dropFirst(2).first == "\(group)"
                }
            if !isRunning { return }
            guard ContinuousClock.now < end else { throw TestSupportError("processes of group \(group) still run") }
        }
    }

    private static func content(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    @Test("What it leaves in the background is not waited for")
    func background() throws {
        let child = try Self.shell("sleep 1000 2> /dev/null & echo $!")
        let start = ContinuousClock.now
        guard case .ended(.exited(0), let output) = child.collect(atMost: 100, within: .seconds(30)) else {
            return #expect(Bool(false), "it did not end")
        }
        #expect(ContinuousClock.now - start < .seconds(25))
        child.signal(9)
        #expect(Int32(String(decoding: output.dropLast(), as: UTF8.self)) != nil)
    }
}

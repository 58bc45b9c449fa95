// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A running program, whose lines are printed and can be waited for, and which can be killed.
@MainActor
final class Program {
    /// The lines that it has printed.
    private(set) var lines: [String] = []
    private let process = Process()
    private let input = Pipe()
    private let title: String?
    private var isOver = false
    /// How many of the lines a caller has waited for.
    private var read = 0
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: The executable.
    ///   - words: Its arguments.
    ///   - environment: Variables beside those of this process.
    ///   - title: What its printed lines begin with; `nil` to print none of them.
    /// - Throws: If it cannot be started.
    init(_ path: String, _ words: [String], environment: [String: String], title: String?) throws {
        self.title = title
        let output = Pipe()
        self.process.executableURL = URL(filePath: path)
        self.process.arguments = words
        self.process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        self.process.standardInput = self.input
        self.process.standardOutput = output
        self.process.standardError = output
        try self.process.run()
        // A thread that does nothing but read: lines arrive in order, and the last ones before the end.
        let handle = output.fileHandleForReading
        Thread.detachNewThread { [self] in
            var rest = Data()
            while case let data = handle.availableData, !data.isEmpty {
                rest.append(data)
                let parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                let lines = parts.dropLast().map { String(decoding: $0, as: UTF8.self) }
                rest = Data(parts.last ?? Data())
                DispatchQueue.main.async { MainActor.assumeIsolated { self.printed(lines) } }
            }
            DispatchQueue.main.async { MainActor.assumeIsolated { self.closed() } }
        }
    }

    private func printed(_ lines: [String]) {
        self.lines += lines
        if let title { for line in lines { print("        \(title) | \(line)") } }
        self.notify()
    }

    private func closed() {
        self.isOver = true
        self.notify()
    }

    private func notify() {
        let waiters = self.waiters
        self.waiters = []
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for a line after those that were waited for before.
    ///
    /// - Throws: ``Stage/Failure`` if the program ends without it.
    @discardableResult
    func line(where isIt: (String) -> Bool) async throws -> String {
        while true {
            while self.read < self.lines.count {
                self.read += 1
                if isIt(self.lines[self.read - 1]) { return self.lines[self.read - 1] }
            }
            if self.isOver {
                throw Stage.Failure(
                    "the program ended without the expected line; its last: \(self.lines.last ?? "none")"
                )
            }
            await withCheckedContinuation { self.waiters.append($0) }
        }
    }

    /// Types text at the program.
    func type(_ keys: String) { try? self.input.fileHandleForWriting.write(contentsOf: Data(keys.utf8)) }

    /// Kills the program as `kill -9` does, and waits until it is gone.
    func kill() async {
        if self.process.isRunning { Foundation.kill(self.process.processIdentifier, SIGKILL) }
        await self.ended()
    }

    /// Asks the program to end, and waits until it is gone.
    func end() async {
        if self.process.isRunning { self.process.terminate() }
        await self.ended()
    }

    /// Waits until the program is gone, and returns its exit status.
    @discardableResult
    func ended() async -> Int32 {
        while self.process.isRunning { try? await Task.sleep(for: .milliseconds(10)) }
        // Its last lines may still be on their way.
        for _ in 0..<200 where !self.isOver { try? await Task.sleep(for: .milliseconds(10)) }
        return self.process.terminationStatus
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import Platform

/// A program that was built with the tests, in a separate process, which has no capabilities of root (Linux).
final class BuiltProgram: Sendable {
    private let process: Process
    private let output: FileHandle
    private let end: Task<Int32, Never>

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: Its arguments.
    ///   - name: The executable's name.
    ///   - environment: Variables beside those of this process.
    ///   - mergesErrors: Whether standard error is part of the output.
    /// - Throws: If it cannot be started.
    init(
        _ arguments: [String],
        of name: String = "martlet",
        environment: [String: String],
        mergesErrors: Bool = false
    ) throws {
        let process = Process()
        let pipe = Pipe()
        let command = Self.withoutPrivileges + [Self.folder.appendingPathComponent(name).path] + arguments
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        if mergesErrors { process.standardError = pipe }
        let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = {
            continuation.yield($0.terminationStatus)
            continuation.finish()
        }
        try process.run()
        self.process = process
        self.output = pipe.fileHandleForReading
        self.end = Task { await ends.first { _ in true } ?? -1 }
    }

    /// What runs a program without root's capabilities, if the tests have them: users have none.
    private static var withoutPrivileges: [String] {
        let setpriv = "/usr/bin/setpriv"
        guard geteuid() == 0, access(setpriv, X_OK) == 0 else { return [] }
        return [setpriv, "--bounding-set=-all", "--inh-caps=-all"]
    }

    private static var folder: URL {
        URL(fileURLWithPath: CommandLine.arguments.first ?? "").deletingLastPathComponent()
    }

    var status: Int32 { get async { await self.end.value } }

    /// The next line that it writes.
    func said() async -> String {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async { continuation.resume(returning: String(decoding: self.output.availableData, as: UTF8.self)) }
        }
    }

    /// Everything that it writes, until its end.
    func everything() async -> String {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    continuation.resume(returning: String(decoding: self.output.readDataToEndOfFile(), as: UTF8.self))
                }
        }
    }

    /// Sends it a signal.
    func signal(_ number: Int32) { _ = kill(self.process.processIdentifier, number) }

    /// Ends it with SIGKILL, and returns when it has ended.
    func endAtOnce() async {
        _ = kill(self.process.processIdentifier, SIGKILL)
        _ = await self.status
    }
}

// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import TransferTesting

/// What an example has around it: a temporary directory, servers, programs to start and to kill, checks, and an end.
///
/// The programs' environment gives a daemon of their own: its state is in the temporary directory, too.
@MainActor
final class Stage {
    /// The directory of everything that the example writes.
    let directory: String
    private let name: String
    private let begun = Date.now
    private var programs: [Program] = []
    private var checks = 0
    /// The variables of programs that differ from those of this process.
    private var environment: [String: String] = [:]

    private init(_ name: String) throws {
        self.name = name
        let path = NSTemporaryDirectory() + "martlet-example-\(name)-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        // Without links in it, as the programs print it.
        self.directory = URL(filePath: path).resolvingSymlinksInPath().path
        self.environment = [
            "MARTLET_STATE_DIR": self.directory + "/state", "MARTLET_DAEMON": Self.martlet, "TMPDIR": self.directory,
        ]
    }

    /// Runs an example, removes what it made, and ends the process: with 0 if all checks held.
    ///
    /// - Parameters:
    ///   - name: The example's name.
    ///   - isKept: Whether the directory stays.
    ///   - story: The example; returns its last line.
    static func run(_ name: String, keeping isKept: Bool, _ story: (Stage) async throws -> String) async -> Never {
        do {
            let stage = try Stage(name)
            let signals = stage.endOnSignals(keeping: isKept)
            let last = await stage.play(story)
            await stage.close(keeping: isKept)
            for signal in signals { signal.cancel() }
            switch last {
            case .success(let line):
                if isKept { print("kept in \(stage.directory)") }
                print("\(name): \(line); \(stage.checks) checks passed")
                exit(0)
            case .failure(let error):
                print("\(name): FAILED: \(error)")
                exit(1)
            }
        } catch {
            print("\(name): FAILED: \(error)")
            exit(1)
        }
    }

    private func play(_ story: (Stage) async throws -> String) async -> Result<String, any Error> {
        do { return .success(try await story(self)) } catch { return .failure(error) }
    }

    /// Ends everything when the user interrupts, or when the example takes far too long.
    private func endOnSignals(keeping isKept: Bool) -> [any DispatchSourceProtocol] {
        let interruptions = [SIGINT, SIGTERM]
            .map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
                source.setEventHandler { MainActor.assumeIsolated { self.giveUp("interrupted", keeping: isKept) } }
                source.resume()
                return source as any DispatchSourceProtocol
            }
        let alarm = DispatchSource.makeTimerSource(queue: .main)
        alarm.setEventHandler {
            MainActor.assumeIsolated { self.giveUp("not ended after 120 seconds", keeping: isKept) }
        }
        alarm.schedule(deadline: .now() + 120)
        alarm.resume()
        return interruptions + [alarm]
    }

    private func giveUp(_ reason: String, keeping isKept: Bool) {
        Task {
            await self.close(keeping: isKept)
            print("\(self.name): FAILED: \(reason)")
            exit(1)
        }
    }

    private func close(keeping isKept: Bool) async {
        for program in self.programs { await program.end() }
        if FileManager.default.fileExists(atPath: self.directory + "/state") {
            // The daemon that the library started.
            if let stop = try? self.start(Self.martlet, ["stop"], as: nil) { await stop.ended() }
        }
        if !isKept { try? FileManager.default.removeItem(atPath: self.directory) }
    }

    // MARK: The story

    /// Prints a line of the story.
    func say(_ text: String) {
        let seconds = Int(Date.now.timeIntervalSince(self.begun) * 10)
        print("\("\(seconds / 10).\(seconds % 10) s".padding(to: 8))\(text)")
    }

    /// Ends the example unless a promise is kept; says it if it is.
    func check(_ isKept: Bool, _ promise: String) throws {
        guard isKept else { throw Failure("not so: \(promise)") }
        self.checks += 1
        self.say("checked: \(promise)")
    }

    /// A check that did not hold, or something that the example cannot do without.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    // MARK: Files

    /// Writes a file below the directory; the directories on its way are created.
    @discardableResult
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(self.directory)/\(name)"
        let folder = URL(filePath: path).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    /// Writes a file of arbitrary bytes.
    @discardableResult
    func write(_ name: String, randomBytes count: Int) throws -> String {
        let source = try FileHandle(forReadingFrom: URL(filePath: "/dev/urandom"))
        defer { try? source.close() }
        return try self.write(name, [UInt8](source.readData(ofLength: count)))
    }

    /// The SHA-256 of a file below the directory, in hexadecimal digits.
    func digest(_ name: String) throws -> String {
        let content = try Data(contentsOf: URL(filePath: "\(self.directory)/\(name)"))
        return SHA256.hash(data: content).map { String(format: "%02x", $0) }.joined()
    }

    /// Ends the example unless two files below the directory have the same content.
    func checkEqual(_ name: String, _ other: String) throws {
        let digest = try self.digest(name)
        try self.check(try self.digest(other) == digest, "\(name) equals \(other): sha256 \(digest.prefix(16))…")
    }

    /// The record that the receiver has stored beside a file.
    func record(of name: String) throws -> String {
        let file = URL(filePath: "\(self.directory)/\(name)")
        let folder = file.deletingLastPathComponent()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        guard let record = names.first(where: { $0.hasPrefix(".\(file.lastPathComponent).") }) else {
            throw Failure("\(name) has no record")
        }
        let text = try String(contentsOf: folder.appending(path: record), encoding: .utf8)
        return text.trimmingCharacters(in: .newlines)
    }

    /// Waits until a file exists.
    func untilExists(_ path: String) async throws {
        while !FileManager.default.fileExists(atPath: path) { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Starts a message bus with a desktop's notification service, for the programs and the daemon of this example.
    ///
    /// Where there is no desktop, the notification is seen all the same; yours appears on the bus of your session.
    func desktop() throws -> Desktop {
        let bus = try StubBus(self.directory + "/bus")
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.variable("DBUS_SESSION_BUS_ADDRESS")
        return Desktop(bus: bus)
    }

    /// A desktop's notification service.
    struct Desktop {
        fileprivate let bus: StubBus

        /// Waits for the next notification: its title and text.
        func notification() async -> String {
            await self.bus.next().first.map { "\($0.summary): \($0.body)" } ?? "none"
        }
    }

    // MARK: Programs

    /// Starts `martlet serve` on a free port of this machine, and returns its URL, without a slash at its end.
    func serve(_ folder: String, _ options: [String] = ["--read-only"]) async throws -> String {
        let words = ["serve", "\(self.directory)/\(folder)", "--listen", "127.0.0.1:0", "--access-log", "none"]
        let server = try self.start(Self.martlet, words + options, as: nil)
        let line = try await server.line { $0.contains(" at http://") }
        let url = String(line.components(separatedBy: " at ").last?.dropLast() ?? "")
        self.say("server: martlet serve \(folder) \(options.joined(separator: " ")), at \(url)")
        return url
    }

    /// Starts this example's program, `Examples NAME --program WORDS…`; its lines are printed after its title.
    func program(_ words: [String], as title: String) throws -> Program {
        try self.start(Self.executable, [self.name, "--program"] + words, as: title)
    }

    private func start(_ path: String, _ words: [String], as title: String?) throws -> Program {
        let program = try Program(path, words, environment: self.environment, title: title)
        self.programs.append(program)
        return program
    }

    /// The path of this executable.
    nonisolated static var executable: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }

    /// The path of the executable `martlet`.
    nonisolated static var martlet: String {
        ProcessInfo.processInfo.environment["MARTLET_DAEMON"]
            ?? URL(filePath: Self.executable).deletingLastPathComponent().appending(path: "martlet").path
    }
}

extension String {
    /// This text with spaces after it.
    func padding(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(1, width - self.count))
    }
}

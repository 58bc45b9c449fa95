// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
#if MARTLET
import MartletURLSession
#else
import FoundationNetworking
#endif

/// Runs the five translations: `Translations SCENARIO URL FILES WORK`, see `Scripts/check-translations`.
///
/// It runs on the main thread, as the articles' code did. It exits with 0 if the scenario has succeeded; otherwise it prints
/// the reason and exits with 1.
@main
enum Program {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 5, let server = URL(string: words[2]), let run = self.scenarios[words[1]] else {
            print("usage: Translations SCENARIO URL FILES WORK; scenarios: \(self.scenarios.keys.sorted())")
            exit(2)
        }
        let place = Place(
            server: server,
            files: URL(fileURLWithPath: words[3]),
            work: URL(fileURLWithPath: words[4])
        )
        do {
            try run(place)
            exit(0)
        } catch {
            print(error is Failure ? "\(error)" : "\(type(of: error)): \(error)")
            exit(1)
        }
    }

    private static let scenarios: [String: @Sendable (Place) throws -> Void] = [
        "queue-twice": QueueScenarios.twice, "queue-leave": QueueScenarios.leave,
        "upload-killed-at-once": UploadScenarios.killedAtOnce, "upload-killed-sending": UploadScenarios.killedSending,
        "upload-events": UploadScenarios.events, "uploads-two": UploadScenarios.two,
        "ten": SessionScenarios.ten, "stop-continue": SessionScenarios.stopAndContinue,
        "background": SessionScenarios.background,
        "accessor-main": AccessorScenarios.main, "accessor-password": AccessorScenarios.password,
        "accessor-trickle": AccessorScenarios.trickle, "accessor-tasks": AccessorScenarios.tasks,
        "accessor-handler": AccessorScenarios.handler,
        "list-suspended": ListScenarios.suspended, "list-changed": ListScenarios.changed,
        "list-ends": ListScenarios.ends, "list-first-run": ListScenarios.firstRun,
        "list-second-run": ListScenarios.secondRun, "list-tasks-first-run": ListScenarios.tasksFirstRun,
        "list-tasks-second-run": ListScenarios.tasksSecondRun,
    ]
}

/// The server and the folders of a scenario.
struct Place: Sendable {
    /// The root of the server.
    let server: URL
    /// The files that it serves.
    let files: URL
    /// The folder for the program's files.
    let work: URL

    func url(_ path: String) -> URL { self.server.appendingPathComponent(path) }

    func served(_ name: String) throws -> Data { try Data(contentsOf: self.files.appendingPathComponent(name)) }

    /// Checks that a file has the bytes of a served one.
    func check(_ file: URL, is name: String) throws {
        let (found, expected) = (try Data(contentsOf: file), try self.served(name))
        guard found != expected else { return }
        throw Failure("\(name): \(found.count) bytes, not the \(expected.count) served")
    }
}

/// The reason why a scenario has failed.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

// `@unchecked Sendable`: the condition guards the value.
/// A value that threads change and await.
final class Watched<Value>: @unchecked Sendable {
    private let condition = NSCondition()
    private var current: Value

    init(_ value: Value) { self.current = value }

    var value: Value { self.condition.withLock { self.current } }

    func change(_ body: (inout Value) -> Void) {
        self.condition.withLock {
            body(&self.current)
            self.condition.broadcast()
        }
    }

    /// Waits until the value is as wanted, at most ten seconds.
    @discardableResult
    func wait(_ what: String, seconds: TimeInterval = 10, until isWanted: (Value) -> Bool) throws -> Value {
        let end = Date(timeIntervalSinceNow: seconds)
        return try self.condition.withLock {
            while !isWanted(self.current) {
                guard self.condition.wait(until: end) else { throw Failure("no \(what) within \(Int(seconds)) s") }
            }
            return self.current
        }
    }
}

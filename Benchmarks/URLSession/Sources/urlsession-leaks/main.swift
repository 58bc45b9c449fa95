// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import Synchronization
import TransferTesting

// Arguments: the number of rounds. Each round makes 12 sessions with 20 tasks, most with a delegate: they finish, fail, are
// cancelled or never resumed, and the session is dropped or invalidated. Prints the memory, the descriptors and the objects
// that are left, and fails if an object is left or if memory or descriptors grow.

/// The server, in a process of its own so that its records are not counted.
func serve() async throws -> Never {
    let file = ServedFile(length: 50_000)
    let server = try await ScriptedServer.start { request in
        switch request.path {
        case "/file": .file(file, request)
        case "/redirect": .redirect(to: "/file")
        case "/missing": .response(404, text: "missing")
        case "/cut": Reply([.head(Reply.headBytes(200, [("Content-Length", "100")])), .bytes([1]), .cut])
        case "/stall": Reply([.head(Reply.headBytes(200, [("Content-Length", "100")])), .bytes([1]), .stall])
        default: .response(200, text: "fine")
        }
    }
    FileHandle.standardOutput.write(Data((server.baseURL + "\n").utf8))
    // Until the parent has ended.
    _ = FileHandle.standardInput.readDataToEndOfFile()
    exit(0)
}

/// References to everything that was made.
final class Watched: Sendable {
    struct Reference: Sendable { weak let object: (NSObject & Sendable)? }

    let references = Mutex<[Reference]>([])
    let made = Mutex(0)

    func watch<Object: NSObject & Sendable>(_ object: Object) -> Object {
        self.made.withLock { $0 += 1 }
        self.references.withLock { $0.append(Reference(object: object)) }
        return object
    }

    private static func description(_ object: NSObject) -> String {
        guard let task = object as? URLSessionTask else { return "\(type(of: object))" }
        let url = task.originalRequest?.url?.path ?? "?"
        return "\(type(of: task)) \(task.taskIdentifier) of \(url) in state \(task.state.rawValue)"
    }

    /// Waits at most 20 seconds for the objects to be released, and returns the descriptions of those that are not.
    func left() async throws -> [String] {
        let end = ContinuousClock.now + .seconds(20)
        while true {
            let left = self.references.withLock { references in
                references.removeAll { $0.object == nil }
                return references.compactMap { $0.object.map(Self.description) }
            }
            if left.isEmpty || ContinuousClock.now > end { return left }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

final class Delegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    }
}

func use(_ base: URL, _ number: Int, _ watched: Watched) async {
    let delegate = number % 3 == 0 ? nil : watched.watch(Delegate())
    let configuration = URLSessionConfiguration.ephemeral
    let session = watched.watch(URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil))
    for path in ["file", "redirect", "missing", "cut", "stall"] {
        let url = base.appendingPathComponent(path)
        var put = URLRequest(url: url)
        put.httpMethod = "PUT"
        let made: [URLSessionTask] = [
            session.dataTask(with: url), session.downloadTask(with: url) { _, _, _ in },
            session.dataTask(with: url) { _, _, _ in }, session.uploadTask(with: put, from: Data(count: 5000)),
        ]
        for task in made { watched.watch(task).resume() }
        if path == "stall" || number % 5 == 0 { for task in made { task.cancel() } }
    }
    watched.watch(session.dataTask(with: base)).taskDescription = "never resumed"
    watched.watch(session.dataTask(with: base)).cancel()
    _ = try? await session.data(from: base.appendingPathComponent("file"))
    #if FOUNDATION_SESSION
    // Foundation's session is released by an invalidation only.
    session.finishTasksAndInvalidate()
    #else
    if let (bytes, _) = try? await session.bytes(from: base.appendingPathComponent("stall")) {
        var iterator = bytes.makeAsyncIterator()
        _ = try? await iterator.next()
    }
    switch number % 3 {
    case 0: break
    case 1: session.finishTasksAndInvalidate()
    default: session.invalidateAndCancel()
    }
    #endif
}

func pages() -> Int {
    let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * 4
}

func descriptors() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

if CommandLine.arguments.dropFirst().first == "--serve" { try await serve() }
let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 50
let server = Process()
server.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
server.arguments = ["--serve"]
let output = Pipe()
server.standardOutput = output
server.standardInput = Pipe()
try server.run()
let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
guard let base = URL(string: line.trimmingCharacters(in: .newlines)) else { fatalError("the server has not started") }

let watched = Watched()
var most = (kibibytes: 0, descriptors: 0)
var hasFailed = false
for round in 1...rounds {
    await withTaskGroup(of: Void.self) { group in
        for number in 0..<12 { group.addTask { await use(base, number, watched) } }
    }
    let left = try await watched.left()
    if !left.isEmpty {
        print("round \(round): \(left.count) objects are left:", Set(left).sorted().joined(separator: ", "))
        hasFailed = true
    }
    if round % max(1, rounds / 10) == 0 || !left.isEmpty {
        let now = (kibibytes: pages(), descriptors: descriptors())
        print(
            "round \(round): \(watched.made.withLock { $0 }) objects, \(now.kibibytes) KiB, \(now.descriptors) descriptors"
        )
        if round <= rounds / 2 {
            // Caches and pools are full after the first half.
            most = (max(most.kibibytes, now.kibibytes), max(most.descriptors, now.descriptors))
        } else {
            // Some connections are still being closed.
            let grows = now.descriptors > most.descriptors + 24 || now.kibibytes > most.kibibytes * 11 / 10
            hasFailed = hasFailed || grows
        }
    }
    if !left.isEmpty { break }
}
server.terminate()
exit(hasFailed ? 1 : 0)

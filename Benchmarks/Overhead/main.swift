// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Platform
import HTTPTransport
import Martlet
import Synchronization
import FileStorage
import TransferEngine

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Downloads the URLs of a list into a directory, by the engine alone or through a session, so that what the library adds
// to a small transfer can be measured:  OverheadBenchmark engine|session LIST DIRECTORY CONNECTIONS
// Or loads the URLs into memory COUNT times, one after another, without a cache or with one in memory or in the directory:
// OverheadBenchmark data|memory-cache|disk-cache LIST DIRECTORY COUNT

let arguments = CommandLine.arguments
guard arguments.count == 5, let connections = Int(arguments[4]) else {
    print("usage: OverheadBenchmark engine|session|data|memory-cache|disk-cache LIST DIRECTORY CONNECTIONS|COUNT")
    exit(2)
}
let urls = try String(contentsOfFile: arguments[2], encoding: .utf8).split(separator: "\n").map(String.init)
let directory = arguments[3]
let failures = Atomic<Int>(0)

switch arguments[1] {
case "engine":
    var configuration = TransferEngine.Configuration()
    configuration.concurrentTransfers = connections
    let engine = try LiveEngine.make(configuration, store: DiskStore())
    var options = DownloadOptions()
    options.directory = directory
    options.ifExists = .rename
    engine.observe(.ends) { event in
        if case .failed = event.kind { failures.add(1, ordering: .relaxed) }
    }
    engine.start()
    for url in urls { try engine.add(DownloadRequest([HTTPURL(url)], options: options)) }
    engine.close()
    await engine.waitUntilDrained()
case "session":
    var configuration = SessionConfiguration.default
    configuration.concurrentTransfers = connections
    let session = try TransferSession(configuration: configuration)
    let left = DispatchGroup()
    for url in urls {
        left.enter()
        try session.download(from: url, to: .directory(directory)) { result in
            if case .failure = result { failures.add(1, ordering: .relaxed) }
            left.leave()
        }
    }
    await withCheckedContinuation { done in left.notify(queue: .global()) { @Sendable in done.resume() } }
case "data", "memory-cache", "disk-cache":
    var configuration = SessionConfiguration.ephemeral
    if arguments[1] == "memory-cache" { configuration.cache = ResponseCache(memoryLimit: 1 << 30) }
    if arguments[1] == "disk-cache" { configuration.cache = try ResponseCache(directory: directory, limit: 1 << 30) }
    let session = try TransferSession(configuration: configuration)
    var sources: [ResponseSource: Int] = [:]
    let start = ContinuousClock.now
    for _ in 0..<connections {
        for url in urls { sources[try await session.data(from: url).response.source, default: 0] += 1 }
    }
    print(sources, (ContinuousClock.now - start) / (connections * urls.count))
default:
    print("there is no way '\(arguments[1])': write engine, session, data, memory-cache or disk-cache")
    exit(2)
}
exit(failures.load(ordering: .relaxed) == 0 ? 0 : 1)

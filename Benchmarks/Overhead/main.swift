// SPDX-License-Identifier: Apache-2.0
import Dispatch
import FoundationEssentials
import Platform
import HTTPTransport
import Martlet
import Synchronization
import FileStorage
import TransferEngine

// Downloads the URLs of a list into a directory, by the engine alone or through a session, so that what the library adds
// to a small transfer can be measured:  OverheadBenchmark engine|session LIST DIRECTORY CONNECTIONS

let arguments = CommandLine.arguments
guard arguments.count == 5, let connections = Int(arguments[4]) else {
    print("usage: OverheadBenchmark engine|session LIST DIRECTORY CONNECTIONS")
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
default:
    print("there is no way '\(arguments[1])': write engine or session")
    exit(2)
}
exit(failures.load(ordering: .relaxed) == 0 ? 0 : 1)

// SPDX-License-Identifier: Apache-2.0
// The program of Docs/Tutorial.md, which shows its regions.

// snippet: tutorial-session
import Martlet

var configuration = SessionConfiguration.background(identifier: "org.example.collect")
configuration.rateLimit = 4_000_000  // bytes per second, so that there is time for a kill
let session = try await TransferSession.open(configuration)
// end

// snippet: tutorial-found
var tasks = await session.tasks().download
for task in tasks {
    print("found:", task.description, task.state, task.bytesReceived)
}
// end

// snippet: tutorial-add
let known = Set(tasks.map(\.description))
for url in CommandLine.arguments.dropFirst() where !known.contains(url) {
    let task = try session.downloadTask(for: url, to: .directory("downloads", ifExists: .keepIfSame))
    task.description = url
    task.resume()
    tasks.append(task)
    print("added:", url)
}
// end

// snippet: tutorial-wait
for task in tasks {
    do {
        let file = try await task.value
        print("done:", file.path, file.size)
    } catch {
        print("failed:", task.description, error)
    }
}
await session.close()
// end

// SPDX-License-Identifier: Apache-2.0
// The program of README.md.

// snippet: readme
import Martlet

let session = try await TransferSession.open(.background(identifier: "org.example.reader"))
for url in CommandLine.arguments.dropFirst() {
    let task = try session.downloadTask(for: url, to: .directory("books"))
    task.resume()  // survives kill -9 of this program from here on
}
for task in await session.tasks().download {  // those of killed runs, too
    do { print("downloaded", try await task.value.path) } catch { print("failed:", error) }
}
await session.close()
// end

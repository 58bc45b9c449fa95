// SPDX-License-Identifier: Apache-2.0
// Runs one example: ./martlet example NAME

import Foundation

let examples: [(name: String, does: String, run: @MainActor (Stage) async throws -> String)] = [
    ("image-queue", "loads many images at once, with a limit that changes, and stops on leaving", ImageQueue.run),
    ("file-sender", "sends files in the background, is killed meanwhile, and hands over a link", FileSender.run),
    ("background-image", "leaves a download to the daemon, which wakes the program at its end", BackgroundImage.run),
    ("blocking", "fetches with one call that waits, on any thread that may", Blocking.run),
    ("offline-list", "keeps a list of downloads, by keys, over a kill; also in the background", OfflineList.run),
]

/// The parts of the examples that run as programs of their own, so that they can be killed.
let programs: [String: @MainActor ([String]) async throws -> Void] = [
    "file-sender": FileSender.program,
    "background-image": BackgroundImage.program,
    "offline-list": OfflineList.program,
]

let words = Array(CommandLine.arguments.dropFirst())
let name = words.first ?? ""
if words.dropFirst().first == "--program", let program = programs[name] {
    do {
        try await program(Array(words.dropFirst(2)))
        exit(0)
    } catch {
        print("error: \(error)")
        exit(1)
    }
}
guard let example = examples.first(where: { $0.name == name }), words.count <= 2,
    words.count == 1 || words[1] == "--keep"
else {
    let isHelp = words.isEmpty || ["help", "--help", "-h"].contains(name)
    var text = isHelp ? "" : "there is no example '\(words.joined(separator: " "))'\n\n"
    text += "usage: ./martlet example NAME [--keep]\n\n"
    for example in examples { text += "  \(example.name.padding(to: 18))\(example.does)\n" }
    text +=
        "\nEach runs its own server and daemon on this machine, in a temporary directory, checks its results and leaves\n"
    text += "nothing behind; with --keep the directory stays. The sources are in Examples.\n"
    FileHandle(fileDescriptor: isHelp ? 1 : 2).write(Data(text.utf8))
    exit(isHelp ? 0 : 2)
}
await Stage.run(example.name, keeping: words.count == 2, example.run)

// SPDX-License-Identifier: Apache-2.0
// Downloads URLs into a directory and survives its own kill.
//
//     swift run OfflineDownloader DIRECTORY [URL...]
//
// Run it again without URLs and it goes on where it was, even after `kill -9`.

import Martlet

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Prints what happens to the downloads, and lets the program end with the last of them.
final class Printer: OfflineDownloadsObserver {
    /// One element for every download that came to an end.
    let ends: AsyncStream<Bool>
    private let end: AsyncStream<Bool>.Continuation

    init() { (self.ends, self.end) = AsyncStream.makeStream() }

    func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {
        print("\(download.name): \(state)\(download.error.map { ": \($0)" } ?? "")")
        if state == .failed { self.end.yield(false) }
    }

    func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?) {
        let whole = expected.map { " of \(ByteCount.compact($0))" } ?? ""
        print("\(download.name): \(ByteCount.compact(total))\(whole), \(download.rateText())")
    }

    func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) {
        print("\(download.path): \(download.receivedText())")
        self.end.yield(true)
    }

    func downloads(_ list: OfflineDownloads, didFailToSave error: TransferError) { print("warning: \(error)") }
}

guard CommandLine.arguments.count > 1 else {
    print("usage: OfflineDownloader DIRECTORY [URL...]")
    exit(2)
}
let directory = CommandLine.arguments[1]
do {
    let list = try OfflineDownloads(list: directory + "/.downloads.json", directory: directory)
    let printer = Printer()
    list.addObserver(printer)

    // What an earlier run left, and what is new.
    let old = list.downloads
    for download in old { print("\(download.name): \(download.state), \(download.receivedText()) are there") }
    try list.resumeAll()
    let urls = CommandLine.arguments.dropFirst(2)
    for url in urls { print("\(try list.add(url).name): added") }

    var failures = 0
    for await isWell in printer.ends.prefix(old.count + urls.count) where !isWell { failures += 1 }
    await list.close()
    exit(failures == 0 ? 0 : 1)
} catch {
    print("error: \(error)")
    exit(1)
}

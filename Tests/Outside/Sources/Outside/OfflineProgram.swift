// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet

/// Prints what happens to the downloads, and lets the program end with the last of them.
private final class Printer: OfflineDownloads.Observer {
    /// One element for every download that ended.
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

/// Downloads URLs into a directory by a list; without URLs it continues where an earlier run was, even after `kill -9`.
///
/// - Parameter words: The directory and the URLs.
/// - Returns: The exit status.
/// - Throws: `TransferError`.
func downloadOffline(_ words: [String]) async throws -> Int32 {
    let directory = words[0]
    let list = try OfflineDownloads(list: directory + "/.downloads.json", directory: directory)
    let printer = Printer()
    list.addObserver(printer)

    // Downloads of an earlier run, and new ones.
    let old = list.downloads
    for download in old { print("\(download.name): \(download.state), \(download.receivedText()) are there") }
    try list.resumeAll()
    let urls = words.dropFirst()
    for url in urls { print("\(try list.add(url).name): added") }

    var failures = 0
    for await isWell in printer.ends.prefix(old.count + urls.count) where !isWell { failures += 1 }
    await list.close()
    return failures == 0 ? 0 : 1
}

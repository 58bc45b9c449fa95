// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Offline {
    // snippet: offline-observer
    @MainActor
    final class Screen: @preconcurrency OfflineDownloads.Observer {
        private(set) var lines: [String: String] = [:]

        func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {
            self.lines[download.id] = "\(download.name): \(state.rawValue)"
        }

        func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?) {
            let expected = download.expectedText().map { " of \($0)" } ?? ""
            self.lines[download.id] = "\(download.name): \(download.receivedText())\(expected), \(download.rateText())"
        }

        func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) {
            self.lines[download.id] = "\(download.name) is at \(download.path)"
        }
    }
    // end

    static func open(_ screen: Screen) throws -> OfflineDownloads {
        // snippet: offline-open
        let list = try OfflineDownloads(
            list: "/var/lib/reader/downloads.json",
            directory: "/srv/books",
            observer: screen,
            on: .main
        )
        for download in list.downloads {
            print(download.name, download.state, download.isInterrupted, download.userInfo["title"] ?? "")
        }
        try list.resumeInterrupted()
        // end
        return list
    }

    static func add(_ list: OfflineDownloads) throws {
        // snippet: offline-add
        var request = try TransferRequest("https://example.org/books/swifts.pdf")
        request.mirrors = [try HTTPURL("https://mirror.example.net/books/swifts.pdf")]
        let download = try list.add(request, name: "Swifts.pdf", userInfo: ["title": "Swifts"])
        print(download.id, download.path)
        // end
    }

    static func addMany(_ list: OfflineDownloads, _ chapters: [(title: String, url: String)]) throws {
        // snippet: offline-batch
        let requests = try chapters.map { chapter in
            try OfflineDownload.Request(chapter.url, userInfo: ["title": chapter.title])
        }
        for download in try list.add(contentsOf: requests) { print(download.name, download.state) }
        // end
    }

    static func control(_ list: OfflineDownloads, _ id: String) throws {
        // snippet: offline-control
        guard let download = list.download(id: id) else { return }
        try download.suspend()
        try download.resume()
        try download.stop()
        try download.remove(deletingFile: true)
        try list.suspendAll()
        try list.resumeAll()
        // end
    }

    // snippet: offline-row
    final class Row: OfflineDownload.Observer {
        init(_ download: OfflineDownload) { download.addObserver(self, on: .main) }

        func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {
            if state == .failed, let error = download.error { print(download.name, error) }
        }
    }
    // end

    static func close(_ list: OfflineDownloads) async {
        // snippet: offline-close
        await list.close()
        // end
    }
}

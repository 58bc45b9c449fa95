// SPDX-License-Identifier: Apache-2.0
// Never run: this machine has no SwiftUI. A check parses the file, and nothing compiles it.
//
// A list of downloads for a phone: added, paused, resumed and removed, with progress. The system continues the
// downloads while the app is suspended or not running, and the list has them again at the next start.

import Martlet
import MartletSystemTransport
import SwiftUI

/// The downloads, as the views show them.
@MainActor @Observable
final class Downloads: @preconcurrency OfflineDownloads.Observer {
    private(set) var rows: [OfflineDownload] = []
    private(set) var problem: String?
    /// Changes with each event, so that the rows read the new values.
    private(set) var revision = 0

    @ObservationIgnored private var list: OfflineDownloads?

    /// Opens the list; downloads that ran when the app ended continue.
    func open() {
        guard self.list == nil else { return }
        self.perform {
            let folder = URL.documentsDirectory.path()
            let background = SystemBackground(identifier: DownloadsApp.background)
            let list = try OfflineDownloads(
                list: folder + "downloads.json",
                directory: folder,
                configuration: .systemBackground(background),
                observer: self,
                on: .main
            )
            self.list = list
            try list.resumeInterrupted()
        }
    }

    func add(_ address: String) { self.perform { try self.list?.add(address) } }

    func toggle(_ download: OfflineDownload) {
        self.perform { try download.state == .downloading ? download.suspend() : download.resume() }
    }

    func remove(_ download: OfflineDownload) { self.perform { try download.remove(deletingFile: true) } }

    private func perform(_ work: () throws -> Void) {
        do {
            try work()
            self.problem = nil
        } catch {
            self.problem = "\(error)"
        }
        self.update()
    }

    private func update() {
        self.rows = (self.list?.downloads ?? []) + (self.list?.finishedDownloads ?? [])
        self.revision += 1
    }

    // MARK: Events

    func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) { self.update() }

    func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?) { self.update() }

    func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) { self.update() }
}

/// The list, and a field for another download.
struct DownloadsView: View {
    @Environment(Downloads.self) private var downloads
    @State private var address = ""

    var body: some View {
        NavigationStack {
            List {
                Section {
                    HStack {
                        TextField("https://…", text: $address)
                            .keyboardType(.URL)
                            .textInputAutocapitalization(.never)
                            .autocorrectionDisabled()
                        Button("Add") {
                            downloads.add(address)
                            address = ""
                        }
                        .disabled(address.isEmpty)
                    }
                    if let problem = downloads.problem { Text(problem).foregroundStyle(.red) }
                }
                ForEach(downloads.rows) { download in
                    DownloadRow(download: download, revision: downloads.revision) { downloads.toggle(download) }
                }
                .onDelete { offsets in
                    for download in offsets.map({ downloads.rows[$0] }) { downloads.remove(download) }
                }
            }
            .navigationTitle("Downloads")
        }
    }
}

/// One download: its name, its progress, and a button that pauses or resumes it.
struct DownloadRow: View {
    let download: OfflineDownload
    let revision: Int
    let toggle: () -> Void

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(download.name).lineLimit(1)
                if download.state != .finished {
                    if let fraction = download.fraction { ProgressView(value: fraction) } else { ProgressView() }
                }
                Text(download.error?.description ?? "\(download.receivedText()) · \(download.state.rawValue)")
                    .font(.caption)
                    .foregroundStyle(.secondary)
            }
            if download.state != .finished {
                Button(action: toggle) {
                    Image(systemName: download.state == .downloading ? "pause.circle" : "play.circle")
                }
                .buttonStyle(.borderless)
            }
        }
    }
}

/// The system starts the app in the background when downloads have ended.
final class AppDelegate: NSObject, UIApplicationDelegate {
    let downloads = Downloads()

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        downloads.open()
        return true
    }

    func application(
        _ application: UIApplication,
        handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        SystemBackground.handleEvents(
            forBackgroundURLSession: identifier,
            completionHandler: UncheckedHandler(call: completionHandler).callAsFunction
        )
    }
}

// `@unchecked Sendable`: Martlet calls it on the main queue, where UIKit wants it.
struct UncheckedHandler: @unchecked Sendable {
    let call: () -> Void

    @Sendable func callAsFunction() { call() }
}

@main
struct DownloadsApp: App {
    static let background = "org.example.downloads"

    @UIApplicationDelegateAdaptor private var delegate: AppDelegate

    var body: some Scene {
        WindowGroup { DownloadsView().environment(delegate.downloads) }
    }
}

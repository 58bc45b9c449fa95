// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Martlet
import Synchronization

// snippet: delegates-class
final class Reporter: Sendable {}

extension Reporter: TransferDelegate {
    func task(_ task: TransferTask, didMake progress: TransferProgress) {
        print(task.description, progress.fraction ?? 0)
    }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        switch result {
        case .success(let file): print(task.description, "is at", file.path)
        case .failure(let error): print(task.description, "failed:", error)
        }
    }
}
// end

enum Delegates {
    static func use() throws {
        // snippet: delegates-use
        let session = try TransferSession()
        let reporter = Reporter()
        session.addDelegate(reporter, on: .queue(DispatchQueue(label: "reports")))
        let task = try session.downloadTask(for: "https://example.org/a.iso", to: .file("a.iso"))
        task.description = "a.iso"
        task.resume()
        // end
    }

    static func mistake(_ session: TransferSession) {
        // snippet: delegates-mistake
        // Wrong: nothing retains the object, so it is deallocated before the first event.
        session.addDelegate(Reporter())
        // end
    }

    // snippet: delegates-owner
    final class Downloads {
        private let session: TransferSession
        private let reporter = Reporter()

        init() throws {
            self.session = try TransferSession()
            self.session.addDelegate(self.reporter)
        }
    }
    // end

    // snippet: delegates-main-actor
    @MainActor
    final class Screen: @preconcurrency TransferDelegate {
        private(set) var text = ""

        func watch(_ session: TransferSession) { session.addDelegate(self, on: .main) }

        func task(_ task: TransferTask, didMake progress: TransferProgress) {
            self.text = "\(progress.bytesReceived) bytes"
        }
    }
    // end

    // snippet: delegates-actor
    actor Counter: TransferDelegate {
        private(set) var bytes: Int64 = 0

        func watch(_ session: TransferSession) { session.addDelegate(self, on: .actor(self)) }

        nonisolated func task(_ task: TransferTask, didMake progress: TransferProgress) {
            self.assumeIsolated { $0.bytes += progress.bytesSinceLast }
        }
    }
    // end

    // snippet: delegates-decisions
    final class Gatekeeper: TransferDelegate {
        func task(
            _ task: TransferTask,
            didReceive response: TransferResponse,
            decide: @escaping @Sendable (TransferResponse.Decision) -> Void
        ) {
            let isLarge = (response.expectedLength ?? 0) > 1 << 20
            decide(isLarge ? .becomeDownload(to: .directory("downloads")) : .allow)
        }

        func task(_ task: DataTask, didBecome download: DownloadTask) {
            print("task \(task.id) continues as \(download.id)")
        }

        func task(
            _ task: TransferTask,
            willFollow redirect: Redirect,
            decide: @escaping @Sendable (Redirect.Decision) -> Void
        ) {
            decide(redirect.isToAnotherOrigin ? .refuse : .follow)
        }
    }
    // end

    // snippet: delegates-challenge
    final class PasswordAsker: TransferDelegate {
        func task(
            _ task: TransferTask,
            didReceive challenge: Challenge,
            decide: @escaping @Sendable (Challenge.Decision) -> Void
        ) {
            guard challenge.refusals == 0 else { return decide(.useDefault) }
            Task {
                guard
                    let password = await Self.ask(
                        challenge.protectionSpace.realm ?? challenge.protectionSpace.origin.host
                    )
                else {
                    return decide(.cancel)
                }
                decide(.use(.password(user: "anna", password: password)))
            }
        }

        private static func ask(_ what: String) async -> String? { nil }
    }
    // end
}

// snippet: delegates-state
final class Totals: TransferDelegate {
    private struct State {
        var bytes: Int64 = 0
        var failures: [String] = []
    }

    private let state = Mutex(State())

    var summary: String { self.state.withLock { "\($0.bytes) bytes, \($0.failures.count) failures" } }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        self.state.withLock { state in
            switch result {
            case .success(let file): state.bytes += file.size
            case .failure(let error): state.failures.append("\(task.request.url): \(error)")
            }
        }
    }
}
// end

enum DelegatesWithState {
    static func use(_ urls: [String]) async throws {
        // snippet: delegates-state-use
        let transfers = try TransferSession()
        let totals = Totals()
        transfers.addDelegate(totals)
        for url in urls {
            let download = try transfers.downloadTask(for: url, to: .directory("files"))
            download.userInfo = url
            download.resume()
        }
        // end
        _ = totals.summary
    }

    // snippet: delegates-state-table
    @MainActor
    final class Table: @preconcurrency TransferDelegate {
        private var fractions: [Int: Double] = [:]

        func task(_ task: TransferTask, didMake progress: TransferProgress) {
            self.fractions[task.id] = progress.fraction
        }

        func task(_ task: TransferTask, waits reason: WaitReason) { print(task.id, reason) }

        func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
            self.fractions[task.id] = nil
        }
    }
    // end
}

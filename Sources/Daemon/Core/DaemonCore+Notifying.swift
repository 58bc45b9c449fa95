// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore
internal import TransferCore

/// Notifications on the desktop.
extension DaemonCore {
    /// Notifies the user of ends that are stored, as the queue's option or the session's configuration says.
    func notify(_ batch: EndBatch, _ outcomes: [EndBatch.Outcome]) {
        guard let notifier = self.configuration.notifier else { return }
        for session in Set(batch.items.lazy.map(\.session)) {
            let wanted = self.notifications(of: session)
            guard !wanted.isEmpty else { continue }
            let ended = batch.items.indices.filter { index in
                batch.items[index].session == session && batch.items[index].end != nil && outcomes[index].before != nil
            }
            guard !ended.isEmpty else { continue }
            notifier.report(
                DesktopNotifier.Report(
                    session: session,
                    application: self.application(of: session),
                    endings: ended.compactMap { NotificationBatch.Ending(batch.items[$0]) },
                    isAllDone: self.machine.counts(of: session).waiting == 0,
                    wanted: wanted
                )
            )
        }
    }

    private func notifications(of session: String?) -> Set<TransferNotification> {
        guard let session else {
            return self.globalOptions[.notify].flatMap { Set<TransferNotification>(words: $0) } ?? []
        }
        return self.sessions[session]?.notifications ?? []
    }

    /// The name of the program that opened the session, without its process identifier; otherwise the session's name.
    private func application(of session: String?) -> String {
        guard let session else { return "Martlet" }
        guard let program = self.sessions[session]?.programName else { return session }
        let name = program.ranges(of: " (pid ").last.map { program[..<$0.lowerBound] } ?? program[...]
        return name.isEmpty ? session : String(name)
    }
}

extension NotificationBatch.Ending {
    /// The end of a transfer; `nil` if it neither finished nor failed.
    ///
    /// Queries and user information of URLs, which may be secrets, are left out.
    fileprivate init?(_ item: EndBatch.Item) {
        guard let end = item.end, end.state == .finished || end.state == .failed else { return nil }
        let file = item.before.upload == nil ? end.path : item.before.upload?.files.first
        let url = item.before.urls.first.flatMap { try? HTTPURL($0) }
        self.init(
            name: file?.split(separator: "/").last.map(String.init) ?? url?.lastPathSegment ?? url?.host
                ?? "a transfer",
            isUpload: item.before.upload != nil,
            bytes: end.bytes,
            failure: end.state == .failed ? end.failure?.message ?? "it failed" : nil
        )
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore
internal import TransferCore

/// The history of the shared queue.
extension DaemonCore {
    /// Sets the machine's limit of kept ended transfers from the global options; 1000 by default.
    func setHistory() {
        let limit =
            (try? OptionReader(options: self.globalOptions).count(.maxDownloadResult)) ?? nil ?? 1000
        self.machine.setHistory(limit: limit, forgetsFailed: false)
    }

    /// Deletes ended transfers beyond the count or older than the history age.
    func trim(keeping count: Int) {
        let before = self.now - self.configuration.historyAge
        self.later(
            { (writer) throws(QueueStoreError) in
                try writer.trimHistory(count: count, before: before, most: QueueMachine.trimmedAtOnce)
            },
            touching: { _ in [nil] },
            done: { core, result in
                let forgotten = (try? result.get())?.values.reduce(0, +) ?? 0
                core.machine.trimmed(forgotten, now: core.uptime)
            }
        )
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import QueueStore
internal import TransferCore
internal import TransferEngine

/// The holds for which a lane's transfers wait.
extension Lane {
    /// Returns the hold of a transfer's host, if there is one.
    func hold(of transfer: StoredTransfer) -> HostHold? {
        if let hold = self.fileSystemHolds[transfer.directory] { return hold }
        guard self.networkHold != nil || !self.holds.isEmpty,
            let url = transfer.urls.first.flatMap({ try? HTTPURL($0) })
        else { return nil }
        // Usually there is one engine; it knows the time of the next attempt.
        for slot in self.slots.values { if let hold = slot.engine.hold(of: url) { return hold } }
        return nil
    }

    /// Reads the holds of file systems from the engines, some of which may have been removed.
    func readFileSystemHolds() {
        guard !self.fileSystemHolds.isEmpty else { return }
        self.fileSystemHolds = [:]
        for hold in self.slots.values.flatMap(\.engine.fileSystemHolds) {
            if let directory = hold.directory { self.fileSystemHolds[directory] = hold }
        }
    }

    /// Releases holds, so that transfers of held hosts are tried immediately.
    ///
    /// - Parameter transfers: The transfers whose hosts are released; `nil` for all hosts.
    func releaseHolds(of transfers: [StoredTransfer]?) {
        guard self.networkHold != nil || !self.holds.isEmpty else { return }
        guard let transfers else {
            for slot in self.slots.values { slot.engine.releaseHolds() }
            return
        }
        var known: Set<Origin> = []
        for text in transfers.lazy.flatMap(\.urls) {
            guard let url = try? HTTPURL(text), known.insert(url.origin).inserted else { continue }
            // The hold may be of a proxy, or of the network.
            for slot in self.slots.values {
                if let hold = slot.engine.hold(of: url) { slot.engine.releaseHolds(of: hold.origin) }
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Adding downloads, and writing the list.
extension OfflineCore {
    /// Adds and starts downloads, all or none.
    ///
    /// - Throws: ``TransferError`` with `badRequest`; `noSpace` or `file` if the list cannot be written; `invalidated`.
    func add(_ requests: [OfflineDownload.Request]) throws(TransferError) -> [OfflineDownload] {
        for request in requests { try Self.check(request.request) }
        let result: Result<[OfflineRecord], TransferError> = self.writer.withLock { file in
            guard !self.state.withLock({ $0.isClosing }) else { return .failure(Self.isClosedError) }
            let records = requests.map { request in
                let proposed = FileName.choose(user: request.name, disposition: nil, url: request.request.url)
                let plain = OfflineRecord.isName(proposed) ? proposed : FileName.sanitize(proposed) ?? FileName.fallback
                return OfflineRecord(
                    id: UUID().uuidString.lowercased(),
                    name: self.takeName(plain),
                    standing: .downloading,
                    isKept: request.keepsOverRestarts,
                    userInfo: request.userInfo,
                    received: 0,
                    request: OfflineRecord.Request(request.request, secrets: self.keepsSecrets)
                )
            }
            let error = self.write(&file, adding: records)
            self.state.withLock { state in
                for (record, request) in zip(records, requests) {
                    state.entries.withNames { $0.release(record.name) }
                    guard error == nil else { continue }
                    state.entries[record.id] = OfflineEntry(record, request.request)
                    state.active.append(record.id)
                }
            }
            return error.map { .failure($0) } ?? .success(records)
        }
        let records = try result.get()
        for record in records { self.disk.put { self.reconcile(record.id) } }
        return zip(records, requests)
            .map { OfflineDownload(id: $0.id, url: $1.request.url, core: self) }
    }

    /// Takes a name that is unused in the list and in the directory, also for the partial file and the journal.
    private func takeName(_ wanted: String) -> String {
        var tried: Int?
        while true {
            let (name, number) = self.state.withLock { state in
                state.entries.withNames { $0.take(wanted: wanted, after: tried) }
            }
            // Without the lock: the disk may be slow.
            if !OfflineNames.all(of: name).contains(where: { ListPath.isTaken(self.target($0).path) }) { return name }
            self.state.withLock { state in state.entries.withNames { $0.release(name) } }
            tried = number
        }
    }

    private static func check(_ request: TransferRequest) throws(TransferError) {
        try TransferSession.check(request)
        guard request.method == "GET", request.body == nil, request.conditions.isEmpty else {
            throw TransferError(
                .badRequest,
                "a download of a list may be repeated, so it must be a plain GET without content or conditions"
            )
        }
    }

    /// Writes changes to disk, unless another thread has just written them.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file`; the list on disk is then unchanged.
    func save() throws(TransferError) {
        let error: TransferError? = self.writer.withLock { file in
            let (isClosed, holds) = self.state.withLock { state in
                defer { if state.isClosed { state.holds = [] } }
                return (state.isClosed, state.isClosed ? state.holds : [])
            }
            // Outside the lock: the release of a hold acknowledges its event.
            withExtendedLifetime(holds) {}
            return isClosed ? nil : self.write(&file, adding: [])
        }
        if let error { throw error }
    }

    /// Writes the changes since the last time, and new downloads.
    private func write(_ file: inout OfflineListFile, adding new: [OfflineRecord]) -> TransferError? {
        let (changes, holds) = self.state.withLock { state in
            defer {
                state.changes = [:]
                state.holds = []
            }
            return (state.changes, state.holds)
        }
        if changes.isEmpty, new.isEmpty, !file.isOutdated { return nil }
        let (changed, gone) = self.state.withLock { state in
            let ids = changes.sorted { $0.value < $1.value }.map(\.key)
            return (ids.compactMap { state.entries[$0]?.record }, ids.filter { state.entries[$0] == nil })
        }
        do throws(TransferError) {
            try file.write(put: changed + new, gone: gone) { self.state.withLock { $0.records } + new }
            // The holds are released with this frame.
            return nil
        } catch {
            self.state.withLock { state in
                state.changes.merge(changes) { now, _ in now }
                state.holds = holds + state.holds
            }
            return error
        }
    }

    /// Schedules one write for all changes made by events, then reports finished downloads.
    func scheduleSave() {
        let isFirst = self.state.withLock { state in
            defer { state.isSaveScheduled = true }
            return !state.isSaveScheduled
        }
        guard isFirst else { return }
        self.disk.put {
            let finished = self.state.withLock { state in
                state.isSaveScheduled = false
                defer { state.untold = [] }
                return state.untold.compactMap { id in state.entries[id].map { self.handle(id, $0) } }
            }
            self.saveQuietly()
            for download in finished { self.tellList { $1.downloads($0, didFinish: download) } }
            self.closeIfQuiet()
        }
    }

    func saveQuietly() {
        do throws(TransferError) {
            try self.save()
        } catch {
            self.tellList { $1.downloads($0, didFailToSave: error) }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore
internal import TransferCore
internal import TransferEngine

/// The state of uploads between attempts and runs.
extension Lane {
    /// Sets an upload's journal, notes, policy and response receiver, so that it resumes from its recorded state.
    ///
    /// - Throws: `cannotResume` if its request was started, and must not be repeated.
    func prepare(_ plan: inout RequestPlan, _ id: GID, _ tag: RunTag) throws(TransferRecord.Failure) {
        let notes = self.parts.notes
        if let upload = plan.upload { try self.check(upload.method, upload.options, id) }
        plan.upload?.journal = notes.journal(of: id)
        plan.upload?.noteUnrepeatable = { () throws(StorageError) in try notes.begun(id) }
        plan.upload?.withdrawNote = { notes.clear(id) }
        plan.upload?.policy = tag.policy
        plan.upload?.userInfo = tag
        plan.upload?.receiver = tag.answer
    }

    /// Notes a download's request before it is sent, if it must not be repeated.
    ///
    /// - Throws: `cannotResume` if it was started.
    func prepareUnrepeatable(_ request: inout DownloadRequest, _ id: GID) throws(TransferRecord.Failure) {
        let notes = self.parts.notes
        try self.check(request.method, request.options, id)
        request.noteUnrepeatable = { () throws(StorageError) in try notes.begun(id) }
        request.withdrawNote = { notes.clear(id) }
    }

    private func check(_ method: String, _ options: DownloadOptions, _ id: GID) throws(TransferRecord.Failure) {
        guard !RequestMethod.isIdempotent(method), !options.mayBeRepeated, self.parts.notes.isLost(id) else { return }
        throw TransferRecord.Failure(
            .cannotResume,
            "the \(method) was interrupted by the end of the daemon or by a pause: the server may have received it",
            remedy: "check whether the server has received it; if not, retry the transfer"
        )
    }

    /// Deletes the partial upload of a transfer that no engine has, at its server and in the journal.
    func giveUp(_ transfer: StoredTransfer) {
        guard var plan = try? self.plan(transfer) else { return }
        guard let slot = try? self.slot(EngineKey(epoch: self.epoch, proxy: plan.proxy)),
            let policy = try? self.policy(slot, plan)
        else { return }
        self.parts.notes.clear(transfer.id)
        try? self.prepare(&plan, transfer.id, RunTag(id: transfer.id, policy: policy))
        if let upload = plan.upload { slot.engine.giveUp(upload) }
    }
}

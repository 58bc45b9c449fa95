internal import FileStorage
internal import Synchronization
internal import TransferCore

/// One request that goes on with a resumable upload, or begins one: holds it against others, and its sink.
///
/// What tus and the draft have in common.
final class AppendSession: Sendable {
    private struct State {
        var upload: ResumableUpload?
        var sink: UploadSink?
        var held: UploadName?
        var mustCheck = false
    }

    let area: UploadArea
    private let state = Mutex(State())
    private let cut: @Sendable () -> Void

    /// - Parameters:
    ///   - area: Where uploads lie.
    ///   - cut: Cuts this request off, for a later one.
    init(_ area: UploadArea, cut: @escaping @Sendable () -> Void) {
        self.area = area
        self.cut = cut
    }

    /// What is being gone on with.
    var upload: ResumableUpload? { self.state.withLock { $0.upload } }
    /// The sink, once there is one.
    var sink: UploadSink? { self.state.withLock { $0.sink } }

    /// Begins a new upload; blocks.
    func create(_ upload: ResumableUpload, checking: ExpectedDigest?) throws(UploadRefusal) -> UploadSink {
        try self.hold(upload.name)
        do throws(UploadRefusal) {
            return try self.open(upload, try self.area.create(upload), at: 0, checking: checking)
        } catch {
            self.release()
            throw error
        }
    }

    /// Goes on with an upload; blocks, also while an earlier request is cut off.
    ///
    /// - Parameters:
    ///   - name: The upload.
    ///   - checking: The digest that this request's content must have.
    ///   - check: Looks at where the upload stands, may change what is known of it, and throws where it does not fit.
    /// - Returns: Where the content goes.
    /// - Throws: ``UploadRefusal``: 404 and 410 where there is no such upload, 423 where somebody else holds it.
    func resume(
        _ name: UploadName,
        checking: ExpectedDigest?,
        _ check: (inout UploadStanding) throws(UploadRefusal) -> Void
    ) throws(UploadRefusal) -> UploadSink {
        try self.hold(name)
        do throws(UploadRefusal) {
            var standing = try self.area.standing(name, now: Timestamp.now, isOurs: true)
            let before = standing.upload
            try check(&standing)
            if standing.upload != before { try self.area.save(standing.upload) }
            let rest = standing.upload.length.map { $0 - standing.offset }
            if let rest, rest > 0 { try self.area.admit(length: rest) }
            return try self.open(standing.upload, try self.area.openPart(name), at: standing.offset, checking: checking)
        } catch {
            self.release()
            throw error
        }
    }

    private func open(
        _ upload: ResumableUpload,
        _ file: OpenFile,
        at offset: Int64,
        checking: ExpectedDigest?
    ) throws(UploadRefusal) -> UploadSink {
        if checking != nil { try self.area.markUnchecked(upload.name, from: offset) }
        let sink = UploadSink(
            file,
            start: offset,
            bounds: self.area.bounds(length: upload.length),
            budget: self.area.budget,
            digests: checking.map { [$0.algorithm] } ?? []
        )
        self.state.withLock { state in
            state.upload = upload
            state.sink = sink
            state.mustCheck = checking != nil
        }
        return sink
    }

    private static let busy = UploadRefusal(423, "another request goes on with this upload")

    private func hold(_ name: UploadName) throws(UploadRefusal) {
        guard self.area.active.take(name.id, cancel: self.cut) else { throw Self.busy }
        self.state.withLock { $0.held = name }
    }

    /// The content was checked: it counts.
    func accept() throws(UploadRefusal) {
        let (upload, mustCheck) = self.state.withLock { state -> (ResumableUpload?, Bool) in
            defer { state.mustCheck = false }
            return (state.upload, state.mustCheck)
        }
        if mustCheck, let upload { try self.area.markUnchecked(upload.name, from: nil) }
    }

    /// Takes back what this request brought; blocks.
    func takeBack() {
        guard let sink = self.sink else { return }
        // What cannot be cut off stays marked as what must not be believed.
        guard sink.file.truncate(sink.start) == 0 else { return }
        self.area.budget.give(sink.offset - sink.start)
        if sink.file.syncData() == 0 { try? self.accept() }
    }

    /// Lets go of the upload; what has come of it stays.
    func release() {
        let held = self.state.withLock { state -> UploadName? in
            defer { state.held = nil }
            return state.held
        }
        if let held { self.area.active.release(held.id) }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Synchronization
internal import TransferCore

/// One request that creates or resumes a resumable upload: owns the upload while it runs, and its sink.
///
/// Shared by tus and the IETF draft.
final class AppendSession: Sendable {
    private struct State {
        var upload: ResumableUpload?
        var sink: UploadSink?
        var held: UploadName?
        var reservation: NameReservation?
        var mustCheck = false
    }

    let area: UploadArea
    private let state = Mutex(State())
    private let cut: @Sendable () -> Void

    /// - Parameters:
    ///   - area: The upload area.
    ///   - cut: Aborts this request when a later one takes over the upload.
    init(_ area: UploadArea, cut: @escaping @Sendable () -> Void) {
        self.area = area
        self.cut = cut
    }

    /// The upload that receives the content; `nil` before ``create(_:checking:)`` or ``resume(_:checking:_:)``.
    var upload: ResumableUpload? { self.state.withLock { $0.upload } }
    /// The sink of the content; `nil` before the upload is open.
    var sink: UploadSink? { self.state.withLock { $0.sink } }

    /// Creates an upload; blocks.
    func create(_ upload: ResumableUpload, checking: ExpectedDigest?) throws(UploadRefusal) -> UploadSink {
        try self.hold(upload.name)
        do throws(UploadRefusal) {
            let reservation = try self.area.reserve(upload.place, upload.conditionFields)
            self.state.withLock { $0.reservation = reservation }
            return try self.open(upload, try self.area.create(upload), at: 0, checking: checking)
        } catch {
            self.release()
            throw error
        }
    }

    /// Resumes an upload; blocks, also while an earlier request for the same upload is aborted.
    ///
    /// - Parameters:
    ///   - name: The upload.
    ///   - checking: The expected digest of this request's content.
    ///   - check: Validates the request against the upload's state, may update the upload, and throws if they do not
    ///     match.
    /// - Returns: The sink of the content.
    /// - Throws: ``UploadRefusal``: 404 or 410 if the upload does not exist, 423 if another request owns it.
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
            if let rest, rest > 0 { try self.area.admit(length: rest, from: standing.offset) }
            // Without a reservation, the upload is refused at its end at the latest.
            let reservation = (try? self.area.reserve(standing.upload.place, standing.upload.conditionFields)) ?? nil
            self.state.withLock { $0.reservation = reservation }
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

    private static let busy = UploadRefusal(423, "another request continues this upload")

    private func hold(_ name: UploadName) throws(UploadRefusal) {
        guard self.area.active.take(name.id, cancel: self.cut) else { throw Self.busy }
        self.state.withLock { $0.held = name }
    }

    /// Marks the content as checked.
    func accept() throws(UploadRefusal) {
        let (upload, mustCheck) = self.state.withLock { state -> (ResumableUpload?, Bool) in
            defer { state.mustCheck = false }
            return (state.upload, state.mustCheck)
        }
        if mustCheck, let upload { try self.area.markUnchecked(upload.name, from: nil) }
    }

    /// Makes the content durable, so that it can be acknowledged; blocks.
    ///
    /// - Throws: ``UploadRefusal``; then the upload starts again.
    func sync() throws(UploadRefusal) {
        guard let upload = self.upload, let sink = self.sink else { return }
        try self.area.sync(upload.name, sink.file)
    }

    /// Discards the content of this request; blocks.
    func takeBack() {
        guard let sink = self.sink else { return }
        // If the truncation fails, unchecked content stays marked.
        guard sink.file.truncate(sink.start) == 0 else { return }
        self.area.budget.shrink(from: sink.offset, to: sink.start)
        if (try? self.sync()) != nil { try? self.accept() }
    }

    /// Releases the upload; the content received so far is kept.
    func release() {
        let (held, reservation) = self.state.withLock { state -> (UploadName?, NameReservation?) in
            defer { (state.held, state.reservation) = (nil, nil) }
            return (state.held, state.reservation)
        }
        reservation?.release()
        if let held { self.area.active.release(held.id) }
    }
}

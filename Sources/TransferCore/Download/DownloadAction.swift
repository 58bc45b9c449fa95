// SPDX-License-Identifier: Apache-2.0
/// An action that a ``DownloadMachine`` requests; performed in order, after the event that returned it.
package enum DownloadAction: Sendable {
    /// The number of a request, unique in its run.
    package typealias RequestNumber = Int

    // MARK: Requests

    /// Read the held bytes of the overlap if there is one, then send the request.
    case send(FetchPlan)
    /// Close the request's exchange on its event loop, unless its response has ended, and end its extent.
    case close(RequestNumber)
    /// Apply `reading` to the response, on its event loop.
    case resume(RequestNumber)
    /// Call `resumed`, then apply `reading`, on the request's event loop.
    case endPause(RequestNumber)
    /// Return to the machine on the request's event loop, where none of its bytes is being written.
    indirect case deferred(RequestNumber, DeferredStep)
    /// Request the policy's decision; then `policyDecided`.
    indirect case ask(PolicyQuestion, RequestNumber)
    /// Request a fresh URL from the caller; then `linkRefreshed` or `linkRefreshFailed`.
    indirect case refreshLink(HTTPURL, status: Int, RequestNumber)

    // MARK: Connection slots

    /// Return a slot.
    case release(Origin)
    /// Record that the host refused a further connection; its slot has been returned.
    case refused(Origin)
    /// Call `slotFreed` once a slot was taken for the request.
    case waitForSlot(Origin, RequestNumber)
    /// Acquire slots and call `slotAcquired` as long as `nextConnection` names a host.
    case openConnections(lane: Int, avoiding: Int?)
    /// Grant returned slots to other transfers.
    case slotsReleased(lane: Int)

    // MARK: Files

    /// Survey the files under a name; then `surveyed`.
    case survey(FileTarget)
    /// Reserve a name; then `nameReserved`.
    case reserveName(directory: String, base: String)
    /// Reserve the next numbered name; then `nameReserved`.
    case reserveNextName(directory: String, base: String)
    /// Report the target to observers.
    case publishTarget(FileTarget)
    /// Compare the digests of the finished file; then `digestsCompared`.
    case compareDigests(FileTarget, [ExpectedDigest])
    /// Open the partial file, or the second one if that is longer; then `partialOpened` or `openingFailed`.
    case openPartial(FileTarget, claiming: Bool)
    /// Create a small file; then `smallCreated`.
    case createSmall(FileTarget, RequestNumber)
    /// Create a partial file, after the current one is closed in this way; then `partialCreated` or `creatingFailed`.
    indirect case createPartial(PartialPlan)
    /// Copy the finished file, if it is still the one that was compared, to a partial file; then `existingCopied`.
    indirect case copyExisting(FileTarget, unchangedSince: FileIdentity, ResourceFacts)
    /// Write the request's bytes from this offset on; if the journal has no room, `requestFailed`.
    case beginExtent(RequestNumber, at: Int64)
    /// Record the machine's `facts` in the journal.
    case recordFacts
    /// Record these facts of contradicted bytes in the journal, or the machine's `facts` if it still has the file.
    indirect case recordDifference(ResourceFacts)
    /// Delete a closed partial file; errors are ignored.
    case discardPartial(FileTarget)
    /// Call `resumed`, deliver the bytes that arrived after the overlap, then apply `reading`, on the event loop.
    case deliverLeftover(RequestNumber)
    case checkpoint
    /// Keep the partial file and close it; nothing is open then.
    case keepPartial
    /// Compare the first bytes of the request's response with the last ones of the stream.
    case expectStreamTail(RequestNumber, count: Int64)

    // MARK: Digests

    /// Compute the digests of a stream's bytes.
    case beginStreamDigests([DigestAlgorithm])
    /// Compute the digests of the request's bytes.
    case beginPartDigests(RequestNumber, [DigestAlgorithm])
    /// Finish the digests of a request's bytes; then `partDigested`.
    case finishPartDigests(RequestNumber)
    /// Finish the digests of a stream's bytes; then `streamDigested`.
    case finishStreamDigests

    // MARK: Ending

    /// Verify the small file and give it its name; then `committed` or `commitFailed`.
    indirect case commitSmall(FileTarget, CommitOptions)
    /// Verify the partial file and give it its name; then `committed` or `commitFailed`.
    indirect case commitPartial(FileTarget, length: Int64, CommitOptions)
    /// Close all exchanges, then the file, then end the run.
    indirect case end(DownloadEnding)

    // MARK: Events

    case started
    /// Report the head of an accepted response, and the length of the whole if known.
    case respond(ResponseHead, expected: Int64?)
    indirect case progress(RunProgress)
    case note(String)
    case warn(String)
}

/// A step that is taken on a request's event loop.
package enum DeferredStep: Sendable {
    /// The request has failed by a timeout.
    case timeOut(TransferFailure)
    /// Its piece is left to another connection, which would complete it sooner.
    case takeOver
    /// Its piece is left to the other connections.
    case giveUp
    /// As `giveUp`; its slot is granted to another transfer.
    case yield
}

/// One request as planned by the machine; on the heap, because it is large and stays with the request to its end.
package final class FetchPlan: Sendable {
    package let number: DownloadAction.RequestNumber
    /// The index of the event loop.
    package let lane: Int
    /// The index of the source.
    package let source: Int
    /// The redirects and refusals before it, and its URL.
    package let flow: RequestFlow
    /// The origin of its URL.
    package let origin: Origin
    package let method: String
    /// Whether the caller's content is sent.
    package var sendsContent: Bool { !self.flow.isRewritten }
    /// The value of `Range`.
    package let range: String?
    /// The value of `If-Range`.
    package let ifRange: String?
    /// Whether the caller's conditions are sent.
    package let isConditional: Bool
    /// The fields that make it conditional on another version than that of an existing file.
    package let condition: [(String, String)]
    /// The held bytes that the response repeats; they are read before the request is sent.
    package let overlap: ByteRange?
    /// Whether the exchanges closed before must be closed first: some servers limit connections.
    package let waitsForClosing: Bool

    init(
        _ request: borrowing FetchRequest,
        method: String,
        range: String?,
        ifRange: String?,
        overlap: ByteRange?,
        condition: [(String, String)] = [],
        waitsForClosing: Bool
    ) {
        self.number = request.number
        self.lane = request.lane
        self.source = request.source
        self.flow = request.flow
        self.origin = request.origin
        self.method = method
        self.range = range
        self.ifRange = ifRange
        self.isConditional = request.isConditional
        self.condition = condition
        self.overlap = overlap
        self.waitsForClosing = waitsForClosing
    }
}

/// A partial file to be created.
package struct PartialPlan: Sendable {
    package var request: DownloadAction.RequestNumber
    package var target: FileTarget
    package var facts: Boxed<ResourceFacts>
    /// The handling of the open partial file.
    package var current: Current
    /// The algorithms of the digests to compute while the bytes are written in order.
    package var algorithms: [DigestAlgorithm]

    /// The handling of the open partial file.
    package enum Current: Sendable {
        case none
        case keep
        case discard
    }
}

/// The end of a run.
package struct DownloadEnding: Sendable {
    package var outcome: RunOutcome
    /// The requests in flight.
    package var requests: [DownloadAction.RequestNumber]
    /// The progress to report before the end; `nil` if the last report still holds.
    package var kept: RunProgress?
    /// The handling of the file.
    package var file: FileEnding
    /// The partial file next to which a second one, `NAME.martlet-new`, was written.
    package var older: OlderPartial?
    /// Whether `NAME.martlet-new` replaces the older partial file.
    package var newerIsLonger: Bool

    /// The handling of the open file.
    package enum FileEnding: Sendable {
        /// Nothing is open, or the file has its name.
        case none
        /// Nothing is open; the partial file of an earlier run, if any, is deleted.
        case discardEarlier(FileTarget)
        case keep
        case discard
        case setAside
        /// Store a small file's bytes as a partial file.
        case keepSmall(FileTarget, ResourceFacts, received: Int64)
    }
}

/// An older partial file, kept while a response without validators is written to a second one.
package struct OlderPartial: Sendable {
    package var target: FileTarget
    package var bytes: Int64
    /// Whether the run writes its own file elsewhere, because the name of the second one was taken.
    package var isApart = false
    /// The second partial file.
    package var newer: FileTarget { Self.beside(self.target) }

    /// The name of a second partial file.
    package static func beside(_ target: FileTarget) -> FileTarget {
        FileTarget(directory: target.directory, name: target.name + ReservedName.newer)
    }
}

/// The destination of the bytes of a response.
package enum ByteDestination: Sendable {
    /// The request has ended: close the exchange.
    case nowhere
    /// They are not wanted; continue reading.
    case discarded
    /// They are too many to discard: call `drainingEnded`, then close the exchange.
    case tooMany
    /// No bytes were expected: call `unexpectedBytes`.
    case unexpected
    case small
    /// Compare repeated bytes, whose first is at `offset`, and skip them, then write this many at the request's extent;
    /// then `wrote`, or `repetitionDiffers`.
    case partial(skip: Int, offset: Int64, count: Int)
    /// Check and skip repeated bytes, whose first is at `offset`, then deliver this many; then `wrote`.
    case stream(skip: Int, offset: Int64, count: Int)
    /// Compare this many with the expected ones from `index` on; in the file they are at `offset`.
    case compare(count: Int, index: Int, offset: Int64)
}

// SPDX-License-Identifier: Apache-2.0
extension UploadMachine {
    /// An effect that the machine's owner performs, in order.
    ///
    /// Large payloads are on the heap, because actions are passed on in arrays.
    package enum Action: Sendable {
        /// Emit that the upload has started.
        case reportStart
        /// Open the content, then call ``opened(length:files:)`` or ``openFailed(_:)``.
        case openContent
        /// Read the journal, then call ``journalRead(_:)``.
        case readJournal
        /// Write the journal; with a number call ``journalWritten(_:error:)``, otherwise ignore errors.
        indirect case writeJournal(UploadRecord, number: Int?)
        /// Remove the journal's record.
        case removeJournal
        /// Wait for a connection to a host, then call ``connectionGranted(_:)``.
        case waitForConnection(Origin)
        /// Release the connection to a host.
        case releaseConnection(Origin)
        /// Store durably that the next request must not be repeated, then call ``unrepeatableNoted(_:)``.
        case noteUnrepeatable
        /// Remove that note, because the request was not sent, then call ``noteWithdrawn()``.
        case withdrawNote
        /// Compute the digest of a part of the content, then call ``digestComputed(_:)``.
        case computeDigest(DigestAlgorithm, Range<Int64>)
        /// Start a request.
        case send(OutgoingRequest)
        /// Cancel a request; no further events about it may be reported.
        case cancel(Int)
        /// Resume reading a response.
        case resumeReading(Int)
        /// Request a decision from the policy, then call ``policyDecided(_:on:now:)``.
        indirect case ask(PolicyQuestion, Int)
        /// Check whether the content is unchanged, then call ``contentChecked(_:now:)``.
        case checkContent
        /// Discard the body of an interrupted response.
        case discardAnswer
        /// Delete an upload's resource at the server.
        indirect case terminate(UploadRecord)
        /// Delete the resource of an upload whose journal has not been read, and the journal's record.
        case giveUp
        /// Cancel the stream, from which nothing more is read.
        case cancelStream
        /// Emit a response's head.
        indirect case reportResponse(ResponseHead)
        /// Emit the progress.
        indirect case reportProgress(Progress)
        /// Emit a note.
        case note(String)
        /// End the run; the last action of a machine.
        indirect case end(Outcome)
    }

    /// A request to be sent.
    ///
    /// A reference, because the run, its receiver and the policy's facts share it.
    package final class OutgoingRequest: Sendable {
        /// Its number.
        package let id: Int
        /// The protocol's request.
        package let step: UploadStep
        /// The redirects and refusals before it, and its URL.
        package let flow: RequestFlow
        /// The method; a GET if a redirect dropped the content.
        package let method: String
        /// The range of the content that it carries, or `nil` for none.
        package let content: Range<Int64>?
        /// Whether the fields that describe the content are sent.
        package let describesContent: Bool
        /// The value of `Upload-Checksum`.
        package let checksum: String?
        /// Whether to send `Expect: 100-continue`.
        package let expectsContinue: Bool

        init(_ id: Int, _ request: Request, checksum: String?, expectsContinue: Bool) {
            self.id = id
            self.step = request.step
            self.flow = request.flow
            self.method = request.flow.method(request.step.method)
            self.content = request.flow.isRewritten ? nil : request.step.content
            self.describesContent = request.step.describesContent && !request.flow.isRewritten
            self.checksum = checksum
            self.expectsContinue = expectsContinue
        }
    }

    /// The outcome of a run.
    package enum Outcome: Sendable {
        case finished(Completion)
        indirect case failed(TransferFailure)
        indirect case retry(TransferFailure)
        case paused
        case stopped
        case cancelled(keeping: Bool)
    }

    /// The reason for ending a run from outside.
    package enum Interruption: Hashable, Sendable {
        case paused
        case stopped
        /// The queue stops, and waits for a request that must not be repeated.
        case stoppedAfterRequest
        case cancelled(keeping: Bool)
    }

    /// The figures of a finished upload.
    package struct Completion: Hashable, Sendable {
        /// The length of the content.
        package var length: Int64
        /// Bytes of response body received by all runs.
        package var received: Int64
        /// Bytes of content sent by all runs.
        package var sent: Int64
        /// The time of all runs, in nanoseconds.
        package var duration: Int64
        /// The status of the response that completed it, if one did.
        package var status: Int?
        /// The link to the file that the server has made, if it made one.
        package var link: String?
        /// Whether the server had the same content before.
        package var wasPresent = false
    }

    package struct Progress: Hashable, Sendable {
        /// The number of bytes accepted by the kernel or acknowledged by the server.
        package var bytes: Int64
        /// The length of the content, if known.
        package var total: Int64?
        /// Bytes per second over the last few seconds.
        package var rate: Double
        /// Bytes of content sent by all runs.
        package var sent: Int64
        /// The bytes that the server acknowledged, if its protocol reports them.
        package var acknowledged: Int64?
    }

    /// The handling of bytes of a response's body.
    package enum BodyHandling: Sendable {
        /// They are passed to the caller.
        case deliver
        /// They are discarded.
        case discard
        /// The request has ended.
        case perform([Action])
    }

    /// The result of checking the content.
    package enum ContentState: Sendable {
        case unchanged
        /// A file changed since it was opened.
        indirect case changed(TransferFailure)
        /// A file's attributes cannot be read.
        indirect case unreadable(TransferFailure)
    }
}

extension [UploadMachine.Action] {
    /// Joins two lists; without a copy if one of them is empty, as it usually is.
    static func + (left: [UploadMachine.Action], right: [UploadMachine.Action]) -> [UploadMachine.Action] {
        if left.isEmpty { return right }
        if right.isEmpty { return left }
        var actions = left
        actions.append(contentsOf: right)
        return actions
    }
}

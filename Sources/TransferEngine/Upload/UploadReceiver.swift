// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Passes the response to one of an upload's requests to its run.
final class UploadReceiver: ConnectionReceiver {
    let run: UploadRun
    let request: UploadMachine.OutgoingRequest
    let content: UploadStretch?
    /// Whether the request has credentials.
    let hasCredentials: Bool

    init(
        _ run: UploadRun,
        _ request: UploadMachine.OutgoingRequest,
        _ content: UploadStretch?,
        hasCredentials: Bool
    ) {
        self.run = run
        self.request = request
        self.content = content
        self.hasCredentials = hasCredentials
    }

    func exchangeUses(_ connection: ConnectionReport) { self.run.uses(connection, for: self.request) }

    func exchangeConnected() { self.run.connected(self.request.id) }

    func exchangeReceived(interim status: Int, fields: HeaderFields) {
        self.run.received(interim: status, fields, on: self.request.id)
    }

    func exchangeReceived(head: ResponseHead) -> ReadDecision {
        self.run.received(head, on: self.request, hasCredentials: self.hasCredentials)
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.run.received(body, on: self.request.id)
    }

    func exchangeEnded(trailers: HeaderFields, cleanly: Bool) { self.run.responseEnded(self.request.id) }

    func exchangeFailed(_ error: TransportError) {
        self.run.requestFailed(self.request.id, error, content: self.content?.failure)
    }
}

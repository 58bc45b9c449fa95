// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import NIOCore

/// The steps of one request that uploads content.
///
/// The blocking steps run on the pool.
protocol UploadFlow: AnyObject, Sendable {
    /// Validates the request and opens the sink; blocks.
    func open() throws(UploadRefusal) -> UploadOpening
    /// Completes the upload after all content was received; blocks.
    func finish() -> Response
    /// Aborts the upload: the connection was lost or the content refused. Does not block.
    func interrupted()
}

/// The result of opening an upload.
struct UploadOpening: Sendable {
    /// The sink of the content.
    var sink: any BodySink
    /// An interim response to send immediately.
    var interim: Response?
}

/// Passes a request's content to its flow and sends the flow's response.
final class UploadHandler: RequestHandler {
    private enum Stage {
        case opening
        case receiving(any BodySink)
        case finishing
        case over
    }

    private let flow: any UploadFlow
    private var stage = Stage.opening
    private var connection: (any RequestContext)?

    private let cut: CutSwitch?

    /// - Parameters:
    ///   - flow: The flow that consumes the content.
    ///   - cut: The switch by which a later request can abort this one, or `nil`.
    init(_ flow: any UploadFlow, cut: CutSwitch? = nil) {
        self.flow = flow
        self.cut = cut
    }

    func begin(_ connection: any RequestContext) {
        self.connection = connection
        self.cut?.connect(connection)
        let flow = self.flow
        connection.blocking { () -> Result<UploadOpening, UploadRefusal> in
            Result { () throws(UploadRefusal) in try flow.open() }
        } then: { result in
            self.opened(result)
        }
    }

    private func opened(_ result: Result<UploadOpening, UploadRefusal>) {
        switch result {
        case .success(let opening):
            // The client disconnected meanwhile.
            guard case .opening = self.stage else { return self.flow.interrupted() }
            self.stage = .receiving(opening.sink)
            if let interim = opening.interim { self.connection?.interim(interim.status, interim.fields) }
        case .failure(let refusal):
            self.over()?.respond(refusal.response)
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard case .receiving(let sink) = self.stage else { return }
        do throws(UploadRefusal) {
            try sink.take(bytes)
        } catch {
            let connection = self.over()
            self.flow.interrupted()
            connection?.respond(error.response)
        }
    }

    func ended() {
        guard case .receiving = self.stage else { return }
        self.stage = .finishing
        // From here on, a later request waits instead of aborting this one: the content is complete.
        self.cut?.disconnect()
        let flow = self.flow
        self.connection?
            .blocking {
                flow.finish()
            } then: { response in
                self.over()?.respond(response)
            }
    }

    func lost() {
        let isReceiving = if case .receiving = self.stage { true } else { false }
        _ = self.over()
        if isReceiving { self.flow.interrupted() }
    }

    private func over() -> (any RequestContext)? {
        defer { self.connection = nil }
        self.cut?.disconnect()
        self.stage = .over
        return self.connection
    }
}

internal import NIOCore

/// One request that brings content: how it is begun, finished and given up.
///
/// The steps that block run on the pool.
protocol UploadFlow: AnyObject, Sendable {
    /// Checks what can be checked, and opens what the content goes to; blocks.
    func open() throws(UploadRefusal) -> UploadOpening
    /// The content is whole; blocks.
    func finish() -> Answer
    /// Nothing more comes: the connection was lost, or the content refused. Does not block.
    func interrupted()
}

/// What an upload was opened with.
struct UploadOpening: Sendable {
    /// Where the content goes.
    var sink: any BodySink
    /// An interim response that is sent at once.
    var interim: Answer?
}

/// Brings a request's content to its flow and answers with what the flow says.
final class UploadExchange: Exchange {
    private enum Stage {
        case opening
        case receiving(any BodySink)
        case finishing
        case over
    }

    private let flow: any UploadFlow
    private var stage = Stage.opening
    private var connection: (any ExchangeConnection)?

    private let cut: CutSwitch?

    /// - Parameters:
    ///   - flow: What the content is for.
    ///   - cut: What cuts the request off, where a later one may.
    init(_ flow: any UploadFlow, cut: CutSwitch? = nil) {
        self.flow = flow
        self.cut = cut
    }

    func begin(_ connection: any ExchangeConnection) {
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
            // The client went away meanwhile.
            guard case .opening = self.stage else { return self.flow.interrupted() }
            self.stage = .receiving(opening.sink)
            if let interim = opening.interim { self.connection?.interim(interim.status, interim.fields) }
        case .failure(let refusal):
            self.over()?.answer(refusal.answer)
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard case .receiving(let sink) = self.stage else { return }
        do throws(UploadRefusal) {
            try sink.take(bytes)
        } catch {
            let connection = self.over()
            self.flow.interrupted()
            connection?.answer(error.answer)
        }
    }

    func ended() {
        guard case .receiving = self.stage else { return }
        self.stage = .finishing
        // From here on a later request waits: the content is whole, and its answer is worth having.
        self.cut?.disconnect()
        let flow = self.flow
        self.connection?
            .blocking {
                flow.finish()
            } then: { answer in
                self.over()?.answer(answer)
            }
    }

    func lost() {
        let isReceiving = if case .receiving = self.stage { true } else { false }
        _ = self.over()
        if isReceiving { self.flow.interrupted() }
    }

    private func over() -> (any ExchangeConnection)? {
        defer { self.connection = nil }
        self.cut?.disconnect()
        self.stage = .over
        return self.connection
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer

/// Collects small content, then responds after blocking work.
final class CollectingHandler: RequestHandler {
    private let limit: Int
    private let work: @Sendable ([UInt8]) -> Response
    private var connection: (any RequestContext)?
    private var content: [UInt8] = []

    /// - Parameters:
    ///   - limit: The maximum number of bytes.
    ///   - work: Returns the response; called on a thread that may block.
    init(limit: Int, _ work: @escaping @Sendable ([UInt8]) -> Response) {
        self.limit = limit
        self.work = work
    }

    func begin(_ connection: any RequestContext) { self.connection = connection }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard let connection else { return }
        guard bytes.count <= self.limit - self.content.count else {
            self.connection = nil
            connection.respond(.message(413, "at most \(self.limit) bytes are taken here"))
            return
        }
        self.content.append(contentsOf: bytes)
    }

    func ended() {
        guard let connection else { return }
        self.connection = nil
        let (work, content) = (self.work, self.content)
        connection.blocking {
            work(content)
        } then: { response in
            connection.respond(response)
        }
    }

    func lost() { self.connection = nil }
}

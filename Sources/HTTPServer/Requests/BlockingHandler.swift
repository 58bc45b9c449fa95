// SPDX-License-Identifier: Apache-2.0
/// Responds after blocking work, such as computing a digest; discards the request content.
package final class BlockingHandler: RequestHandler {
    private let work: @Sendable () -> Response

    /// Creates a handler for work that runs on the threads of the listener.
    package init(_ work: @escaping @Sendable () -> Response) { self.work = work }

    package func begin(_ connection: any RequestContext) {
        connection.blocking(self.work) { connection.respond($0) }
    }

    package func received(_ bytes: UnsafeRawBufferPointer) {}
    package func ended() {}
    package func lost() {}
}

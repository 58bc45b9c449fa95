// SPDX-License-Identifier: Apache-2.0
/// Responds immediately; discards the request content.
package final class ImmediateHandler: RequestHandler {
    private let response: Response

    /// Creates a handler for one response.
    package init(_ response: Response) { self.response = response }

    package func begin(_ connection: any RequestContext) { connection.respond(self.response) }
    package func received(_ bytes: UnsafeRawBufferPointer) {}
    package func ended() {}
    package func lost() {}
}

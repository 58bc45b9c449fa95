// SPDX-License-Identifier: Apache-2.0
public import HTTPTypes
public import Martlet

extension HTTPResponse {
    /// Creates a response of swift-http-types from the head of a response.
    ///
    /// The reason phrase is the standard one; that of the server is not kept.
    public init(_ response: TransferResponse) {
        // A response of the network has three digits. One of a test's transport could have more, which would be a trap.
        let code = min(max(response.status, 0), 999)
        self.init(
            status: Status(code: code, reasonPhrase: response.reasonPhrase),
            headerFields: HTTPFields(response.headers)
        )
    }
}
